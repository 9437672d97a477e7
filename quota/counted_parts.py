"""The parts of stored objects that count, and which claims are charged to a pod already.

Other parts can have any size that tenants like, and are not kept in memory. The pod has been charged for claims that the scheduler
makes for pods that ask for extended resources.
"""

from __future__ import annotations

from collections.abc import Iterable

from quota.names import CLAIM_COUNT, CLASS_SUFFIX
from quota.pods import is_extended_in_quota
from resourceapi.manifests import uid_of
from resourceapi.objects import EMPTY, Object
from resourceapi.records.claims import FOR_EXTENDED_RESOURCES, pod_served_by


def is_charged_to_pod(claim: Object, pod: Object, others: Iterable[Object], *, is_new: bool = False) -> bool:
    """Whether a claim is the one whose devices its pod was charged for.

    Until the pod's status names its claim, the first one made counts.

    :param others: the namespace's stored claims.
    :param is_new: whether every other one has been first, also one of the same second with a name that sorts later. The API
        server does not ask that: it admits one claim after the other in a second for what the pod was charged once.
    """
    owner = pod_served_by(claim)
    if owner is None or owner != (pod["metadata"].get("name", ""), pod["metadata"].get("uid", "")):
        return False
    status = pod.get("status", EMPTY).get("extendedResourceClaimStatus")
    if status is not None:
        return bool(status.get("resourceClaimName", "") == claim["metadata"].get("name", ""))
    mine = _age(claim)
    return all(
        _age(other) >= mine and not (is_new and uid_of(other) != uid_of(claim))
        for other in others
        if (known := pod_served_by(other)) and known[1] == owner[1]
    )


def _age(claim: Object) -> tuple[str, str]:
    metadata = claim.get("metadata", EMPTY)
    return metadata.get("creationTimestamp") or "", metadata.get("name", "")


def may_limit_claims(name: str) -> bool:
    """Whether a name in a quota limits claims, their devices, or an extended resource that may stand for devices."""
    return name == CLAIM_COUNT or name.endswith(CLASS_SUFFIX) or is_extended_in_quota(name)


_DETAILS = ("name", "deviceClassName", "allocationMode", "count")
_OF_METADATA = ("name", "uid", "creationTimestamp")
_OF_CONTAINERS = ("name", "resources", "restartPolicy")
_OF_POD_STATUS = ("phase", "extendedResourceClaimStatus")


def counted_part_of_claim(claim: Object) -> Object:
    """Name, uid and requests of a claim (v1 with its defaults), and whether the scheduler made it for a pod."""
    metadata = claim.get("metadata") or EMPTY
    kept = _only(metadata, _OF_METADATA)
    annotations = metadata.get("annotations") or EMPTY
    if FOR_EXTENDED_RESOURCES in annotations:
        kept["annotations"] = {FOR_EXTENDED_RESOURCES: annotations[FOR_EXTENDED_RESOURCES]}
        kept["ownerReferences"] = [
            owner for owner in metadata.get("ownerReferences") or () if owner.get("controller")
        ]
    requests = claim.get("spec", EMPTY).get("devices", EMPTY).get("requests") or ()
    return {"metadata": kept, "spec": {"devices": {"requests": [_request(request) for request in requests]}}}


def counted_part_of_quota(quota: Object) -> Object:
    """Name, uid and scopes of a ResourceQuota, and its limits on what claims may use, whichever extended resources stand for devices."""
    spec, metadata = quota.get("spec") or EMPTY, quota["metadata"]
    hard, used = spec.get("hard") or EMPTY, (quota.get("status") or EMPTY).get("used") or EMPTY
    names = [name for name in hard if may_limit_claims(name)]
    return {
        "metadata": _only(metadata, ("name", "namespace", "uid")),
        "spec": {**_only(spec, ("scopes", "scopeSelector")), "hard": _only(hard, names)},
        "status": {"used": _only(used, names)},
    }


def counted_part_of_pod(pod: Object) -> Object:
    """Name, uid and resources of a pod."""
    spec = pod["spec"]
    needed: Object = _only(spec, ("resources", "overhead"))
    for name in ("containers", "initContainers"):
        needed[name] = [_only(container, _OF_CONTAINERS) for container in spec.get(name) or ()]
    return {
        "metadata": _only(pod["metadata"], _OF_METADATA),
        "spec": needed,
        "status": _only(pod.get("status") or EMPTY, _OF_POD_STATUS),
    }


def _request(request: Object) -> Object:
    kept = _only(request, ("name",))
    if request.get("firstAvailable"):
        kept["firstAvailable"] = [_only(each, _DETAILS) for each in request["firstAvailable"]]
    if request.get("exactly"):
        kept["exactly"] = _only(request["exactly"], _DETAILS)
    return kept


def _only(obj: Object, names: Iterable[str]) -> Object:
    return {name: obj[name] for name in names if name in obj}
