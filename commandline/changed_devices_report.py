"""What devices say otherwise after a change: for people, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from allocator.patches.patch import removes
from allocator.patches.sources import Giver
from claimcheck.answers.impact.changed_devices import (
    ATTRIBUTE,
    CAPACITY,
    TAINT,
    ChangedDevice,
    DeviceChange,
    Hidden,
)
from commandline.devices import words
from commandline.devices.json_report import encoded
from resourceapi.kinds import RESOURCE_SLICE, RESOURCE_SLICE_PATCH
from resourceapi.objects import EMPTY, Object
from resourceapi.phrases import number
from resourceapi.records.pools import DeviceId
from resourceapi.records.taints import read_taint

Json = dict[str, Any]
#: Devices that are named of those with the same changes, and different changes that are shown; of others only the number is.
MAX_DEVICES, MAX_GROUPS = 4, 20
_STRUCTS = {ATTRIBUTE: "DeviceAttribute", CAPACITY: "DeviceCapacity", TAINT: "DeviceTaint"}


def lines(devices: Sequence[ChangedDevice]) -> Iterator[str]:
    """What changes, once for all devices that change alike."""
    groups: dict[tuple[str, ...], list[DeviceId]] = {}
    for each in devices:
        more = [f"and {number(each.more, 'other')}"] if each.more else []
        said = (*map(_change, each.changes), *map(_hidden, each.hidden), *more)
        groups.setdefault(said, []).append(each.device)
    for said, alike in list(groups.items())[:MAX_GROUPS]:
        yield f"{_listed(alike)}:"
        yield from (f"  {line}" for line in said)
    if len(groups) > MAX_GROUPS:
        others = sum(len(alike) for alike in list(groups.values())[MAX_GROUPS:])
        yield f"{number(others, 'other device')} (see -o json)"


def _listed(devices: Sequence[DeviceId]) -> str:
    shown = ", ".join(map(str, devices[:MAX_DEVICES]))
    return f"{shown}, … ({number(len(devices), 'device')})" if len(devices) > MAX_DEVICES else shown


def _change(change: DeviceChange) -> str:
    """``attribute model: a100 → h100  (ResourceSlicePatch rename)``."""
    values = [_value(change.what, each) for each in (change.old, change.new)]
    if change.what == CAPACITY:
        policies = [words.policy(each or EMPTY) for each in (change.old, change.new)]
        if policies[0] != policies[1]:
            values = [
                value if each is None else f"{value} ({policy or 'no policy'})"
                for value, each, policy in zip(values, (change.old, change.new), policies, strict=True)
            ]
    by = f"  ({change.giver})" if change.giver.kind else ""
    what = f"{change.what} {change.name}" if change.name else change.what
    return f"{what}: {values[0]} → {values[1]}{by}"


def _hidden(hidden: Hidden) -> str:
    """``attribute tier: gold (ResourceSlicePatch new) has no effect: bronze (ResourceSlicePatch pinned) comes first``."""
    own = _given(hidden.what, hidden.value, Giver(RESOURCE_SLICE_PATCH.name, hidden.patch))
    first = _given(hidden.what, hidden.effective.value, hidden.effective.giver)
    return f"{hidden.what} {hidden.name}: {own} has no effect: {first} comes first"


def _given(what: str, value: Object, giver: Giver) -> str:
    return f"{'removal' if removes(value) else _value(what, value)} ({giver})"


def _value(what: str, value: Object | None) -> str:
    if value is None:
        return words.NONE
    if what == ATTRIBUTE:
        return words.value(value)
    return words.amount(value) if what == CAPACITY else str(read_taint(value))


def document(device: ChangedDevice) -> Json:
    """A device as plain data."""
    return {
        **device.device._asdict(),
        "changes": [
            {
                "what": each.what,
                **({"name": each.name} if each.name else {}),
                "old": _encoded(each.what, each.old),
                "new": _encoded(each.what, each.new),
                "from": _giver(each.giver),
            }
            for each in device.changes
        ],
        "hidden": [
            {
                "what": each.what,
                "name": each.name,
                "patch": each.patch,
                "value": _encoded(each.what, each.value),
                "by": _giver(each.effective.giver),
                "effective": _encoded(each.what, each.effective.value),
            }
            for each in device.hidden
        ],
        **({"more": device.more} if device.more else {}),
    }


def _encoded(what: str, value: Object | None) -> Json | None:
    return None if value is None else encoded(_STRUCTS[what], value)


def _giver(giver: Giver) -> Json:
    return {"kind": giver.kind, "name": giver.name} if giver.kind else {"kind": RESOURCE_SLICE.name}
