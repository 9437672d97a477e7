"""What devices say otherwise after a change, and what of patches has no effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from allocator.device_shapes import DeviceShape
from allocator.devices import Device
from allocator.patches.overrides import Applied
from allocator.patches.sources import SLICE, DeviceSources, Given, Giver
from allocator.time_limit import TimeLimit
from claimcheck.answers.devices.cluster_devices import MOST_LISTED, ClusterDevices
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.objects import Object
from resourceapi.records.pools import DeviceId

ATTRIBUTE, CAPACITY, TAINT = "attribute", "capacity", "taint"


class DeviceChange(NamedTuple):
    """What a device says before and afterwards (None: nothing), and who says so then.

    :param what: ATTRIBUTE, CAPACITY or TAINT; a taint has no name.
    """

    what: str
    name: str
    old: Object | None
    new: Object | None
    giver: Giver


class Hidden(NamedTuple):
    """A value that has no effect, as another patch gives the device another one."""

    what: str
    name: str
    patch: str
    value: Object
    effective: Given


class ChangedDevice(NamedTuple):
    """A device with what changes about it, and what does not, though a patch says so: of both as much as is listed.

    :param more: how much there is beside that.
    """

    device: DeviceId
    changes: tuple[DeviceChange, ...]
    hidden: tuple[Hidden, ...]
    more: int = 0


def changed_devices(
    now: ClusterDevices, then: ClusterDevices, patches: Collection[str], limit: TimeLimit
) -> list[ChangedDevice]:
    """The devices that are there before and afterwards and do not say the same, or to which a patch says something in vain.

    :param patches: those that are new or replaced, by their names.
    :param limit: how long it may take.
    :raises OutOfTime: if it takes longer.
    """
    return sorted(_changed(now, then, patches, limit), key=lambda each: each.device)


def _changed(
    now: ClusterDevices, then: ClusterDevices, patches: Collection[str], limit: TimeLimit
) -> Iterator[ChangedDevice]:
    before = {device.id: device for device in now if not now.is_obsolete(device)}
    published = {slice.name: slice for slice in then.inventory.published()}
    alike: dict[tuple[DeviceShape, DeviceShape, DeviceShape, Applied], ChangedDevice] = {}
    for slice in then.inventory:
        for own, device in zip(published[slice.name].devices, slice.devices, strict=True):
            limit.check()
            was = before.get(device.id)
            if was is None or then.is_obsolete(device):
                continue
            applied = then.inventory.applied_to(device)
            key = was.shape, own.shape, device.shape, applied
            found = alike.get(key)
            if found is None:
                found = alike[key] = _compared(was, device, then.sources_of(device), patches)
            if found.changes or found.hidden:
                yield found._replace(device=device.id)


def _compared(was: Device, device: Device, sources: DeviceSources, patches: Collection[str]) -> ChangedDevice:
    """A device, whether anything about it changes or not."""
    changes, hidden = list(_changes(was, device, sources)), list(_hidden(sources, patches))
    more = sum(max(0, len(each) - MOST_LISTED) for each in (changes, hidden))
    return ChangedDevice(device.id, tuple(changes[:MOST_LISTED]), tuple(hidden[:MOST_LISTED]), more)


def _changes(was: Device, device: Device, sources: DeviceSources) -> Iterator[DeviceChange]:
    for what, old, new, given in (
        (ATTRIBUTE, was.attributes, device.attributes, sources.attributes),
        (CAPACITY, was.capacity, device.capacity, sources.capacity),
    ):
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                giver = given[name].giver if name in given else SLICE
                yield DeviceChange(what, name, old.get(name), new.get(name), giver)
    before, after = (each.spec.get("taints") or () for each in (was, device))
    known_before, known_after = ({frozenset(taint.items()) for taint in taints} for taints in (before, after))
    for taint in before:
        if frozenset(taint.items()) not in known_after:
            yield DeviceChange(TAINT, "", taint, None, SLICE)
    for each in sources.taints:
        if frozenset(each.value.items()) not in known_before:
            yield DeviceChange(TAINT, "", None, each.value, each.giver)


def _hidden(sources: DeviceSources, patches: Collection[str]) -> Iterator[Hidden]:
    for what, given in ((ATTRIBUTE, sources.attributes), (CAPACITY, sources.capacity)):
        for name, each in given.items():
            for giver, value in each.hidden:
                if giver.kind == RESOURCE_SLICE_PATCH.name and giver.name in patches:
                    yield Hidden(what, name, giver.name, value, each)
