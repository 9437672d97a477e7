"""Views of single objects of a cluster: labels of namespaces and nodes, and how many claims there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from threading import Lock
from typing import NamedTuple, Protocol

from cluster.store import Change, Collection
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object
from resourceapi.records.claims import FOR_EXTENDED_RESOURCES, POD_CLAIM_NAME
from resourceapi.records.nodes import Node

MOST_DELETED = 10_000


def host_name_of(nodes: Collection[Node], node: str) -> str:
    """The host name of a node; the node's name if it is unknown."""
    known = nodes.objects.get(node)
    return node if known is None else known.host_name


class ClaimLabels(NamedTuple):
    """The labels by which metrics count claims.

    ``source`` is empty for claims that people write.  Source: KEP-4816 ("Monitoring Requirements") for
    ``first_available``, kube-controller-manager's ``dynamic_resource_allocation_resource_claims`` for the others.
    """

    allocated: str
    admin_access: str
    source: str
    first_available: str


class ClaimRecord(NamedTuple):
    """What is held of a claim."""

    uid: str
    labels: ClaimLabels


class Gauges(Protocol):
    """The metrics that show the numbers."""

    def set_claims(self, labels: ClaimLabels, number: int) -> None:
        """Show how many claims have these labels."""


class DeletedUids:
    """Uids of deleted objects, as far as that was noticed: the latest ``MOST_DELETED``."""

    def __init__(self) -> None:
        self._uids: dict[str, None] = {}

    def add(self, uid: str) -> None:
        """Remember a uid, and forget the oldest if there are too many."""
        self._uids[uid] = None
        if len(self._uids) > MOST_DELETED:
            del self._uids[next(iter(self._uids))]

    def __contains__(self, uid: str) -> bool:
        return uid in self._uids


class ClaimCounts:
    """A view of claims: their number by labels, and which have been ``deleted``."""

    def __init__(self, claims: Collection[ClaimRecord]) -> None:
        self.deleted = DeletedUids()
        self._claims = claims
        self._gauges: Gauges | None = None
        self._numbers: Counter[ClaimLabels] = Counter()
        self._lock = Lock()
        claims.listen(self._changed)

    def show(self, gauges: Gauges) -> None:
        """Show the numbers now and after every change."""
        with self._lock:
            self._gauges = gauges
            self._update(self._numbers)

    def _changed(self, changes: Sequence[Change[ClaimRecord]]) -> None:
        with self._lock:
            shown = set()
            for _, before, after in changes:
                if before is not None:
                    self._numbers[before.labels] -= 1
                    shown.add(before.labels)
                    # claims of a kind that is not served for a while have not been deleted
                    if self._claims.is_listed and (after is None or after.uid != before.uid):
                        self.deleted.add(before.uid)
                if after is not None:
                    self._numbers[after.labels] += 1
                    shown.add(after.labels)
            self._update(shown)

    def _update(self, changed: Iterable[ClaimLabels]) -> None:
        if self._gauges is not None:
            for labels in changed:
                self._gauges.set_claims(labels, self._numbers[labels])


def read_claim(claim: Object) -> ClaimRecord:
    """What is held of a claim of v1."""
    return ClaimRecord(text(mapping(claim, "metadata"), "uid"), claim_labels(claim))


def claim_labels(claim: Object) -> ClaimLabels:
    """The labels by which a claim of v1 is counted."""
    requests = entries(mapping(claim, "spec", "devices"), "requests")
    return _claim_labels(
        mapping(claim, "status").get("allocation") is not None,
        any(mapping(request, "exactly").get("adminAccess") is True for request in requests),
        _source(mapping(claim, "metadata", "annotations")),
        any(bool(entries(request, "firstAvailable")) for request in requests),
    )


@cache
def _claim_labels(allocated: bool, admin_access: bool, source: str, first_available: bool) -> ClaimLabels:
    """One object for all claims with these labels: there may be very many."""
    return ClaimLabels(_lower(allocated), _lower(admin_access), source, _lower(first_available))


def _source(annotations: Object) -> str:
    """Who has made a claim, by the annotations of kube-scheduler and kube-controller-manager."""
    if annotations.get(FOR_EXTENDED_RESOURCES) == "true":
        return "extended_resource"
    return "resource_claim_template" if annotations.get(POD_CLAIM_NAME) else ""


def _lower(value: bool) -> str:
    return "true" if value else "false"
