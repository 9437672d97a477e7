"""What the API server of :mod:`tests.scheduler.fake_api` does with single objects: preconditions, patches, bindings."""

from __future__ import annotations

import copy
from typing import Any

from resourceapi.limits import RESERVED_FOR
from resourceapi.objects import Object


class Refusal(Exception):
    """A request is refused with this HTTP status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message


def merged(value: Any, patch: Any) -> Any:
    """A value after a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(value) if isinstance(value, dict) else {}
    for key, member in patch.items():
        if member is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), member)
    return result


def refuse_unless_current(stored: Object, body: Object, resource: str) -> None:
    """Refuse a write of another object, or of an older revision; without them, it is of the stored one."""
    for field in ("uid", "resourceVersion"):
        wanted = body["metadata"].get(field, "")
        if wanted and wanted != stored["metadata"][field]:
            name = stored["metadata"]["name"]
            why = (
                "the object has been modified; please apply your changes to the latest version and try again"
            )
            raise Refusal(409, "Conflict", f'Operation cannot be fulfilled on {resource} "{name}": {why}')


def bound(pod: Object, binding: Any) -> Object:
    """A pod after a Binding."""
    name, node = pod["metadata"]["name"], binding["target"]["name"]
    why = ""
    if binding["metadata"].get("uid", pod["metadata"]["uid"]) != pod["metadata"]["uid"]:
        why = f"Precondition failed: UID in precondition: {binding['metadata']['uid']}"
    elif "deletionTimestamp" in pod["metadata"]:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif pod["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    if why:
        raise Refusal(409, "Conflict", f'Operation cannot be fulfilled on pods/binding "{name}": {why}')
    assigned: Object = merged(pod, {"spec": {"nodeName": node}})
    return assigned


def with_status(stored: Object, body: Object) -> Object:
    """An object with the status of another one; that of a claim follows the rules that matter to bindings."""
    status = copy.deepcopy(body.get("status") or {})
    if stored["kind"] == "ResourceClaim":
        _check_claim(stored.get("status") or {}, status)
    result = {key: value for key, value in stored.items() if key != "status"}
    return {**result, "status": status} if status else result


def _check_claim(before: Object, after: Object) -> None:
    reserved = after.get("reservedFor") or []
    uids = [consumer["uid"] for consumer in reserved]
    if before.get("allocation") and after.get("allocation", before["allocation"]) != before["allocation"]:
        raise Refusal(422, "Invalid", "status.allocation: Invalid value: field is immutable")
    if reserved and not after.get("allocation"):
        raise Refusal(
            422, "Invalid", "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"
        )
    if len(uids) > RESERVED_FOR:
        raise Refusal(
            422,
            "Invalid",
            f"status.reservedFor: Too many: {len(uids)}: must have at most {RESERVED_FOR} items",
        )
    if len(set(uids)) < len(uids):
        raise Refusal(422, "Invalid", "status.reservedFor: Duplicate value")
