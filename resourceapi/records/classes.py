"""DeviceClasses: which devices they select, how these are configured, and the extended resource that a class stands for."""

from __future__ import annotations

from typing import NamedTuple

from resourceapi.manifests import entries, mapping, name_of, text
from resourceapi.objects import Object
from resourceapi.records.claims import expressions_of

#: The gate with which containers ask for devices of a class by an extended resource (KEP-5004).
EXTENDED_RESOURCES_GATE = "DRAExtendedResource"
#: The first release (minor number) that charges claims for them; before, only pods are, whatever the gate says.
CLAIMS_CHARGED_SINCE = 35
#: With the name of a class, the resource that every class stands for, whether it gives itself another name or not.
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class DeviceClass(NamedTuple):
    """A DeviceClass.

    :param selectors: the CEL expressions; None for a selector of another kind.
    :param config: its DeviceClassConfigurations.
    :param extended_resource: the resource that it gives itself as its name (KEP-5004); empty if none.
    :param created: when it was created (RFC 3339); empty if that is not known.
    """

    name: str
    selectors: tuple[str | None, ...] = ()
    config: tuple[Object, ...] = ()
    extended_resource: str = ""
    created: str = ""

    @property
    def expressions(self) -> tuple[str, ...]:
        """The expressions that must all be true of a device; empty for a selector of another kind."""
        return tuple([each or "" for each in self.selectors])


def read_device_class(value: Object) -> DeviceClass:
    """A DeviceClass of any version, also with mistakes."""
    spec = mapping(value, "spec")
    return DeviceClass(
        name_of(value),
        expressions_of(entries(spec, "selectors")),
        tuple(entries(spec, "config")),
        text(spec, "extendedResourceName"),
        text(mapping(value, "metadata"), "creationTimestamp"),
    )
