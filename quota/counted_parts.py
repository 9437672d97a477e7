"""The parts of stored objects that count; other parts can have any size that tenants like, and are not kept in memory."""

from __future__ import annotations

from quota.pod_claims import ANNOTATION
from resourceapi.objects import EMPTY, Object

_DETAILS = ("name", "deviceClassName", "allocationMode", "count")
_OF_METADATA = ("name", "uid", "creationTimestamp")
_OF_CONTAINERS = ("name", "resources", "restartPolicy")
_OF_POD_STATUS = ("phase", "extendedResourceClaimStatus")


def counted_part_of_claim(claim: Object) -> Object:
    """Name, uid and requests of a claim (v1 with its defaults), and whether the scheduler made it for a pod."""
    metadata = claim.get("metadata") or EMPTY
    kept = _only(metadata, _OF_METADATA)
    annotations = metadata.get("annotations") or EMPTY
    if ANNOTATION in annotations:
        kept["annotations"] = {ANNOTATION: annotations[ANNOTATION]}
        kept["ownerReferences"] = [
            owner for owner in metadata.get("ownerReferences") or () if owner.get("controller")
        ]
    requests = claim.get("spec", EMPTY).get("devices", EMPTY).get("requests") or ()
    return {"metadata": kept, "spec": {"devices": {"requests": [_request(request) for request in requests]}}}


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


def _only(obj: Object, names: tuple[str, ...]) -> Object:
    return {name: obj[name] for name in names if name in obj}
