"""Where the attributes, capacity and taints of a device come from: its slice, patches, DeviceTaintRules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from allocator.devices import Device
from allocator.patches.overrides import Applied, published_name
from allocator.patches.patch import removes
from resourceapi.kinds import DEVICE_TAINT_RULE, RESOURCE_SLICE_PATCH
from resourceapi.objects import Object


class Giver(NamedTuple):
    """Who says something about a device: its slice (no kind), or the object of a kind and name."""

    kind: str = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.kind else "the slice"


SLICE = Giver()


class Given(NamedTuple):
    """A value, who gives it, and the values that it hides, of those who would count without it, one after the other."""

    value: Object
    giver: Giver
    hidden: tuple[tuple[Giver, Object], ...] = ()

    @property
    def removed(self) -> bool:
        """Whether a patch removes the attribute: the device has none."""
        return removes(self.value)


class DeviceSources(NamedTuple):
    """Attributes (also removed ones) and capacity of a device, by name as the merged device has them; its taints."""

    attributes: dict[str, Given]
    capacity: dict[str, Given]
    taints: tuple[Given, ...]


def sources(device: Device, applied: Applied) -> DeviceSources:
    """Where all comes from that a device has; `device` is as its slice has it."""
    domain = f"{device.id.driver}/"
    patches = [(Giver(RESOURCE_SLICE_PATCH.name, patch.name), patch) for patch in applied.patches]
    taints = [(SLICE, taint) for taint in device.spec.get("taints") or ()]
    taints += [(Giver(DEVICE_TAINT_RULE.name, rule.name), rule.taint) for rule in applied.rules]
    return DeviceSources(
        _given(domain, device.attributes, ((giver, patch.attributes) for giver, patch in patches)),
        _given(domain, device.capacity, ((giver, patch.capacity) for giver, patch in patches)),
        tuple(Given(taint or {}, giver) for giver, taint in taints),
    )


def _given(
    domain: str, own: Mapping[str, Object], by_patches: Iterable[tuple[Giver, Object]]
) -> dict[str, Given]:
    found: dict[str, list[tuple[Giver, Object]]] = {}
    for giver, entries in by_patches:
        for full, entry in entries.items():
            found.setdefault(published_name(domain, full, own), []).append((giver, entry))
    for name, entry in own.items():
        bare = name.removeprefix(domain)
        found.setdefault(bare if bare in own else name, []).append((SLICE, entry or {}))
    return {
        name: Given(entry, giver, tuple(hidden)) for name, [(giver, entry), *hidden] in sorted(found.items())
    }
