"""The same place in the versions of an object.

kube-apiserver names the hub's path in some errors and the path of the version in the URL in others; users think in
the version that they wrote.
"""

from __future__ import annotations

from conversion.hub import DEVICE_FIELDS, EXACT_FIELDS
from resourceapi.field_path import Path
from resourceapi.kinds import CLAIM_TEMPLATE, KINDS, RESOURCE_SLICE, claim_spec_of

_REQUESTS = tuple((*kind.claim_spec, "devices", "requests") for kind in KINDS.values() if kind.claim_spec)
_DEVICES = ("spec", "devices")


def to_hub(path: Path) -> Path:
    """A path of any version as the hub has it; a path of the hub stays as it is."""
    for prefix in _REQUESTS:
        at = len(prefix)
        if path[:at] == prefix and len(path) > at + 1 and path[at + 1] in EXACT_FIELDS:
            return (*path[: at + 1], "exactly", *path[at + 1 :])
    if path[:2] == _DEVICES and len(path) > 3 and path[3] == "basic":
        return (*path[:3], *path[4:])
    return path


def to_version(path: Path, kind: str, version: str) -> Path:
    """A path of the hub (or of the version already) as a user of ``version`` has it."""
    if kind == CLAIM_TEMPLATE.name and path[:2] == ("spec", "devices"):
        path = ("spec", *path)  # admin access is reported as if the template were a claim
    if version != "v1beta1":
        return _exactly(path, kind)
    for prefix in _REQUESTS:
        at = len(prefix)
        if path[:at] == prefix and path[at + 1 : at + 2] == ("exactly",):
            return (*path[: at + 1], *path[at + 2 :])
    if kind == RESOURCE_SLICE.name and path[:2] == _DEVICES and len(path) > 3 and path[3] in DEVICE_FIELDS:
        return (*path[:3], "basic", *path[3:])
    return path


def _exactly(path: Path, kind: str) -> Path:
    """Admin access is reported without the ``exactly`` that it stands in."""
    if claim_spec_of(kind) and path[-1:] == ("adminAccess",) and path[0] == "spec":
        return to_hub(path)
    return path
