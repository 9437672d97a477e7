"""What is known of single objects of a cluster: labels of namespaces, host names of nodes, claims that are there or gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any, NamedTuple, Protocol

from quota.pod_claims import ANNOTATION as EXTENDED_RESOURCE
from resourceapi.manifests import entries, mapping, name_of, text
from resourceapi.objects import Object

HOSTNAME = "kubernetes.io/hostname"
MOST_DELETED = 10_000
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"


class Labels:
    """The labels of objects without namespace, by name; ``labels`` stays the same mapping."""

    def __init__(self) -> None:
        self.labels: dict[str, Mapping[str, str]] = {}

    def replace(self, objects: Iterable[Object]) -> None:
        found = {name_of(obj): labels_of(obj) for obj in objects}
        # name by name, since verdicts read it meanwhile
        for name in self.labels.keys() - found.keys():
            self.labels.pop(name, None)
        self.labels.update(found)

    def put(self, obj: Object) -> None:
        self.labels[name_of(obj)] = labels_of(obj)

    def remove(self, obj: Object) -> None:
        self.labels.pop(name_of(obj), None)

    def lose(self) -> None:
        self.replace(iter(()))


def labels_of(obj: Any) -> dict[str, str]:
    """The labels of an object."""
    labels = mapping(obj, "metadata", "labels")
    return {key: value for key, value in labels.items() if isinstance(value, str)}


class HostNames(Labels):
    """The host name labels of nodes; other labels are left out, as there are many."""

    def put(self, obj: Object) -> None:
        self.labels[name_of(obj)] = _host_name(obj)

    def replace(self, objects: Iterable[Object]) -> None:
        super().replace({"metadata": {"name": name_of(obj), "labels": _host_name(obj)}} for obj in objects)

    def of(self, node: str) -> str:
        """The host name of a node; of one that is not known, or has no label, its name."""
        return self.labels.get(node, {}).get(HOSTNAME) or node


def _host_name(node: Object) -> dict[str, str]:
    return {key: value for key, value in labels_of(node).items() if key == HOSTNAME}


class ClaimLabels(NamedTuple):
    """What claims are counted by, in the words of metrics.

    ``source`` is empty for claims that people write.  Source: KEP-4816 ("Monitoring Requirements") for
    ``first_available``, kube-controller-manager's ``dynamic_resource_allocation_resource_claims`` for the others.
    """

    allocated: str
    admin_access: str
    source: str
    first_available: str


class Gauges(Protocol):
    """Where the numbers are shown."""

    def set_claims(self, labels: ClaimLabels, number: int) -> None: ...


class Deleted:
    """Uids of objects that were deleted, as far as that was noticed: the latest ``MOST_DELETED``."""

    def __init__(self) -> None:
        self._uids: dict[str, None] = {}

    def add(self, uid: str) -> None:
        self._uids[uid] = None
        if len(self._uids) > MOST_DELETED:
            del self._uids[next(iter(self._uids))]

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids


class Claims:
    """How many claims there are of each kind, and which have been ``deleted``."""

    def __init__(self) -> None:
        self.deleted = Deleted()
        self._gauges: Gauges | None = None
        self._known: dict[tuple[str, str], ClaimLabels] = {}
        self._numbers: Counter[ClaimLabels] = Counter()
        self._lock = Lock()

    def show(self, gauges: Gauges) -> None:
        """Show the numbers, and those that come."""
        with self._lock:
            self._gauges = gauges
            self._tell(self._numbers)

    def replace(self, objects: Iterable[Object]) -> None:
        known = {_key(claim): claim_labels(claim) for claim in objects}
        with self._lock:
            changed = set(self._numbers)
            self._known, self._numbers = known, Counter(known.values())
            self._tell(changed | set(self._numbers))

    def put(self, obj: Object) -> None:
        self._change(_key(obj), claim_labels(obj))

    def remove(self, obj: Object) -> None:
        self.deleted.add(text(mapping(obj, "metadata"), "uid"))
        self._change(_key(obj), None)

    def lose(self) -> None:
        self.replace(iter(()))

    def _change(self, key: tuple[str, str], labels: ClaimLabels | None) -> None:
        with self._lock:
            before = self._known.pop(key, None)
            if before is not None:
                self._numbers[before] -= 1
            if labels is not None:
                self._known[key] = labels
                self._numbers[labels] += 1
            if before != labels:
                self._tell(found for found in (before, labels) if found is not None)

    def _tell(self, changed: Iterable[ClaimLabels]) -> None:
        if self._gauges is not None:
            for labels in changed:
                self._gauges.set_claims(labels, self._numbers[labels])


def _key(claim: Object) -> tuple[str, str]:
    return text(mapping(claim, "metadata"), "namespace"), name_of(claim)


def claim_labels(claim: Object) -> ClaimLabels:
    """How a claim of v1 is counted."""
    requests = entries(mapping(claim, "spec", "devices"), "requests")
    return ClaimLabels(
        _truth(mapping(claim, "status").get("allocation") is not None),
        _truth(any(mapping(request, "exactly").get("adminAccess") is True for request in requests)),
        _source(mapping(claim, "metadata", "annotations")),
        _truth(any(bool(entries(request, "firstAvailable")) for request in requests)),
    )


def _source(annotations: Object) -> str:
    """Who has made a claim, by the annotations of kube-scheduler and kube-controller-manager."""
    if annotations.get(EXTENDED_RESOURCE) == "true":
        return "extended_resource"
    return "resource_claim_template" if annotations.get(POD_CLAIM_NAME) else ""


def _truth(value: bool) -> str:
    return "true" if value else "false"
