"""What is kept of pods: those that reference ResourceClaims."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from allocator.bounded_cache import remember
from resourceapi.manifests import entries, has_ended, labels_of, mapping, name_of, text, uid_of
from resourceapi.objects import Object

MOST_LABEL_CHARACTERS = 10_000
#: So many texts of labels are known, to have each once. Python 3.12 never lets go of what `sys.intern` was given.
MOST_LABEL_TEXTS = 65_536
_label_texts: dict[str, str] = {}
#: Of further claims of a pod nothing is kept: kube-apiserver stores pods with more than 60,000. Pods of this scheduler may have
#: far fewer (`scheduler.pod_claims.MOST_CLAIMS`); those of others lose what they have beyond these only when they have ended.
MOST_CLAIMS_KEPT = 1_024


class PodClaim(NamedTuple):
    """An entry of ``spec.resourceClaims``.

    :param entry: its name in the pod.
    :param claim: the name of the ResourceClaim; empty while one from a template does not exist, and if none is needed.
    :param is_generated: whether the claim comes from a template.
    :param is_needed: False if kube-controller-manager found that the pod needs no claim for this entry.
    """

    entry: str
    claim: str
    is_generated: bool
    is_needed: bool = True


class PodRecord(NamedTuple):
    """A pod that references claims.

    :param node: the node that it is on; empty if it has none yet.
    :param priority: of two pods, the one with less may be preempted.
    :param is_leaving: whether it is being deleted.
    :param is_running: whether its devices have been prepared, and a container has been started.
    :param started: when kubelet has begun with it (RFC 3339); empty if it has not.
    :param labels: for budgets; none if they are larger than any pod needs.
    """

    namespace: str
    name: str
    uid: str
    node: str
    scheduler_name: str
    priority: int
    claims: tuple[PodClaim, ...]
    is_leaving: bool
    is_running: bool = False
    started: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def claim_keys(self) -> list[str]:
        """The claims that exist, as ``namespace/name``."""
        return [f"{self.namespace}/{each.claim}" for each in self.claims if each.claim]


def read_pod(pod: Object) -> PodRecord | None:
    """What is kept of a pod; None for one that references no claims, or has ended."""
    spec = mapping(pod, "spec")
    if has_ended(pod) or not entries(spec, "resourceClaims"):
        return None
    return pod_record(pod)


def pod_record(pod: Object) -> PodRecord:
    """What matters of a pod here."""
    metadata, spec = mapping(pod, "metadata"), mapping(pod, "spec")
    priority, status = spec.get("priority"), mapping(pod, "status")
    labels = labels_of(pod)
    if sum(len(key) + len(value) for key, value in labels.items()) > MOST_LABEL_CHARACTERS:
        labels = {}
    return PodRecord(
        namespace=text(metadata, "namespace"),
        name=name_of(pod),
        uid=uid_of(pod),
        node=text(spec, "nodeName"),
        scheduler_name=text(spec, "schedulerName"),
        priority=priority if isinstance(priority, int) else 0,
        claims=tuple(claims_of(pod)),
        is_leaving=bool(metadata.get("deletionTimestamp")),
        is_running=status.get("phase") == "Running",
        started=text(status, "startTime"),
        labels=tuple((_once(key), _once(value)) for key, value in labels.items()),
    )


def _once(label: str) -> str:
    """The text that is known of those that are equal: most pods have labels of others."""
    known = _label_texts.get(label)
    if known is None:
        remember(_label_texts, label, label, MOST_LABEL_TEXTS)
        known = label
    return known


def claims_of(pod: Object) -> list[PodClaim]:
    """The claims that a pod references, ``MOST_CLAIMS_KEPT`` at most.

    Of those from templates, kube-controller-manager writes the names into ``status.resourceClaimStatuses``; an entry there
    without a name says that the pod needs none.
    """
    generated = {
        text(each, "name"): each for each in entries(mapping(pod, "status"), "resourceClaimStatuses")
    }
    found = []
    for each in entries(mapping(pod, "spec"), "resourceClaims")[:MOST_CLAIMS_KEPT]:
        entry, named = text(each, "name"), text(each, "resourceClaimName")
        if named:
            found.append(PodClaim(entry, named, is_generated=False))
            continue
        status = generated.get(entry)
        claim = text(status, "resourceClaimName")
        found.append(PodClaim(entry, claim, is_generated=True, is_needed=status is None or bool(claim)))
    return found


def pod_path(namespace: str, name: str) -> str:
    """Where the API server has a pod."""
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"
