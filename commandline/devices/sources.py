"""Where the attributes, capacity and taints of a device come from."""

from __future__ import annotations

from typing import NamedTuple

from allocator.devices import Device
from resourceapi.objects import Object


class Giver(NamedTuple):
    """Who says something about a device: its slice (no kind), or the object of a kind and name."""

    kind: str = ""
    name: str = ""

    def __str__(self) -> str:
        return self.name or "slice"


class Given(NamedTuple):
    """A value, who gives it, and the values that it hides, of those who would count without it, one after the other."""

    value: Object
    giver: Giver
    hidden: tuple[tuple[Giver, Object], ...] = ()

    @property
    def removed(self) -> bool:
        """Whether a patch removes the attribute: the device has none."""
        return self.value.get("null") is not None


class DeviceSources(NamedTuple):
    """Attributes (also removed ones) and capacity of a device, by name as the merged device has them; its taints."""

    attributes: dict[str, Given]
    capacity: dict[str, Given]
    taints: tuple[Given, ...]


def sources_of(device: Device) -> DeviceSources:
    """Where all comes from that a device has."""
    slice = Giver()
    return DeviceSources(
        {name: Given(entry or {}, slice) for name, entry in sorted(device.attributes.items())},
        {name: Given(entry or {}, slice) for name, entry in sorted(device.capacity.items())},
        tuple(Given(taint, slice) for taint in device.taints),
    )
