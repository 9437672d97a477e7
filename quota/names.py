"""Names of what a ResourceQuota can limit, as far as claims and pods use them (``spec.hard``)."""

from __future__ import annotations

from resourceapi.extended_resources import IMPLICIT_PREFIX
from resourceapi.model.versions import GROUP

COUNT = "count/"
CLAIM_COUNT = f"{COUNT}resourceclaims.{GROUP}"
CLASS_SUFFIX = f".deviceclass.{GROUP}/devices"
REQUESTS = "requests."


def object_count(resource: str, group: str) -> str:
    """``count/resourceclaims.resource.k8s.io``: the number of objects of a kind."""
    return f"{COUNT}{resource}.{group}" if group else COUNT + resource


def devices_of(device_class: str) -> str:
    """``gpu.deviceclass.resource.k8s.io/devices``: the devices of a class."""
    return device_class + CLASS_SUFFIX


def class_of(name: str) -> str:
    """The class whose devices a name counts, whichever way; empty for any other name."""
    if name.endswith(CLASS_SUFFIX):
        return name.removesuffix(CLASS_SUFFIX)
    implicit = REQUESTS + IMPLICIT_PREFIX
    return name.removeprefix(implicit) if name.startswith(implicit) else ""
