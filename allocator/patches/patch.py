"""ResourceSlicePatches: attributes and capacity that an administrator gives to devices, whatever their slices say (KEP-5027)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from allocator.patches.device_names import DeviceNames
from resourceapi import times
from resourceapi.objects import EMPTY, Object

NULL = "null"
"""The field of an attribute that removes it."""


def removes(entry: Object) -> bool:
    """Whether an entry of a patch removes the attribute, rather than giving it a value."""
    return entry.get(NULL) is not None


class Patch:
    """A ResourceSlicePatch; compared by identity.

    `order` sorts patches: of two that give a device the same attribute or capacity, the first counts.
    """

    __slots__ = ("attributes", "capacity", "class_name", "expressions", "name", "names", "order")

    def __init__(self, obj: Object) -> None:
        """`obj`: a ResourceSlicePatch in normal form."""
        metadata = obj.get("metadata") or EMPTY
        devices = (obj.get("spec") or EMPTY).get("devices") or EMPTY
        filter = devices.get("filter") or EMPTY
        self.name: str = metadata.get("name", "")
        #: priority, age, name; one without a creation time is younger than all others
        self.order = (-(devices.get("priority") or 0), *_age(metadata.get("creationTimestamp")), self.name)
        #: of driver, pool and device, as far as the filter has them
        self.names = DeviceNames(filter.get("driver"), filter.get("pool"), filter.get("device"))
        #: of the DeviceClass whose selectors must choose a device, if there is one
        self.class_name: str | None = filter.get("deviceClassName")
        #: that must all be true of a device
        self.expressions = tuple(_expressions(filter.get("selectors") or ()))
        #: by full name, without those whose type of value is not known
        self.attributes: Object = {
            name: entry for name, entry in (devices.get("attributes") or EMPTY).items() if entry
        }
        self.capacity: Object = {
            name: entry or {} for name, entry in (devices.get("capacity") or EMPTY).items()
        }


def _age(created: object) -> tuple[bool, str]:
    return not created, times.age(str(created or ""))


def _expressions(selectors: Any) -> Iterator[str]:
    for selector in selectors:
        yield ((selector or EMPTY).get("cel") or EMPTY).get("expression", "")


def class_expressions(device_class: Object) -> tuple[str, ...]:
    """The expressions of a DeviceClass, which must all be true of a device."""
    return tuple(_expressions((device_class.get("spec") or EMPTY).get("selectors") or ()))
