"""Claims that the scheduler makes for pods that ask for extended resources: the pod has been charged already."""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi.objects import EMPTY, Object

ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


def owner_of(claim: Object) -> tuple[str, str] | None:
    """Name and uid of the pod for which the scheduler made a claim, or None for any other claim."""
    metadata = claim.get("metadata", EMPTY)
    if (metadata.get("annotations") or EMPTY).get(ANNOTATION) != "true":
        return None
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            is_pod = owner.get("kind") == "Pod" and owner.get("apiVersion") == "v1"
            return (owner.get("name", ""), owner.get("uid", "")) if is_pod else None
    return None


def is_charged_to_pod(claim: Object, pod: Object, others: Iterable[Object]) -> bool:
    """Whether a claim is the one whose devices its pod was charged for.

    Until the pod's status names its claim, the first one made counts.

    :param others: the namespace's stored claims.
    """
    owner = owner_of(claim)
    if owner is None or owner != (pod["metadata"].get("name", ""), pod["metadata"].get("uid", "")):
        return False
    status = pod.get("status", EMPTY).get("extendedResourceClaimStatus")
    if status is not None:
        return bool(status.get("resourceClaimName", "") == claim["metadata"].get("name", ""))
    mine = _age(claim)
    return all(_age(other) >= mine for other in others if (known := owner_of(other)) and known[1] == owner[1])


def _age(claim: Object) -> tuple[str, str]:
    metadata = claim.get("metadata", EMPTY)
    return metadata.get("creationTimestamp") or "", metadata.get("name", "")
