"""The devices in a table, as ``kubectl get`` prints one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from allocator.devices import Device
from allocator.patches.sources import DeviceSources
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from commandline.devices import words
from commandline.reports.escaping import on_one_line

_GAP = "   "
COLUMNS = ("DEVICE", "NODE", "STATUS", "CLAIM", "TAINTS", "PATCHES")
WIDE_COLUMNS = (*COLUMNS, "PODS", "ATTRIBUTES", "CAPACITY", "COUNTERS LEFT", "GROUPS", "SLICE")


def lines(devices: ClusterDevices, chosen: Sequence[Device], *, wide: bool = False) -> Iterator[str]:
    """The table line by line; nothing for no devices.

    :param wide: whether to show pods, attributes, capacity, counters, compatibility groups and slices as well.
    """
    if not chosen:
        return
    rows: list[tuple[str, ...]] = [WIDE_COLUMNS if wide else COLUMNS]
    for device in chosen:
        cells = (*_narrow(devices, device), *(_wide(devices, device) if wide else ()))
        rows.append(tuple(map(on_one_line, cells)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield _GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _narrow(devices: ClusterDevices, device: Device) -> tuple[str, ...]:
    sources = devices.sources_of(device)
    return (
        str(device.id),
        words.place(device),
        ", ".join(each for each in (devices.status(device), words.node_state(devices, device)) if each),
        words.some(words.users(devices.uses(device))),
        words.some([f"{taint.key}:{taint.effect}" for taint in device.taints]),
        words.some(patches(sources)),
    )


def patches(sources: DeviceSources) -> list[str]:
    """The patches that give the device something."""
    given = (*sources.attributes.values(), *sources.capacity.values())
    return sorted({each.giver.name for each in given if each.giver.kind})


def _wide(devices: ClusterDevices, device: Device) -> tuple[str, ...]:
    left = devices.capacity_left(device)
    attributes = [f"{name}={words.value(value or {})}" for name, value in sorted(device.attributes.items())]
    capacity = []
    for name, each in sorted(device.capacity.items()):
        total = words.amount(each or {})
        capacity.append(f"{name}={left[name]} of {total}" if name in left else f"{name}={total}")
    counters = [
        f"{each.counter_set}/{each.counter}={each.left} of {each.total}" for each in devices.counters(device)
    ]
    groups = [
        f"{each.counter_set}={'+'.join(sorted(each.groups)) or words.NONE}" for each in devices.groups(device)
    ]
    return (
        *(",".join(each) or words.NONE for each in (words.pods(devices.uses(device)), attributes)),
        *(", ".join(each) or words.NONE for each in (capacity, counters, groups)),
        device.slice.name,
    )
