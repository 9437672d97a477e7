"""The extended resources by which the containers of a pod ask for devices of a DeviceClass (KEP-5004)."""

from __future__ import annotations

from resourceapi.manifests import mapping, text
from resourceapi.objects import Object

GATE = "DRAExtendedResource"
#: The first release (minor number) that charges claims for them; before, only pods are, whatever the gate says.
CLAIMS_CHARGED_SINCE = 35
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""With the name of a class, the resource that every class stands for, whether it gives itself another name or not."""


def resource_named_by(device_class: Object) -> str:
    """The resource that a DeviceClass (any version) gives itself as its name; empty if none."""
    return text(mapping(device_class, "spec"), "extendedResourceName")
