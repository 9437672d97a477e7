"""Pools of which no device can be allocated, slices that do not count, and hardware that is promised twice."""

from __future__ import annotations

from collections.abc import Iterator

from allocator.devices import Device, Slice
from claimcheck.answers.doctor.checks import (
    GONE_NODE,
    INCOMPLETE_POOL,
    INVALID_POOL,
    OBSOLETE_SLICE,
    OVERDRAWN,
    PLUGIN_BESIDE_DRIVER,
    SAME_DEVICE,
)
from claimcheck.answers.doctor.examined import Affected, Diagnosis, Examined, command
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.phrases import number
from resourceapi.records.classes import IMPLICIT_PREFIX
from resourceapi.records.pools import PoolId
from resourceapi.standard_attributes import PCI_ADDRESS

#: Nodes that are named in a sentence.
_MAX_NODES = 3


def check(examined: Examined) -> Iterator[Diagnosis]:
    """All about slices, their pools and devices."""
    yield from _incomplete(examined)
    yield from _invalid(examined)
    yield from _obsolete(examined)
    yield from _of_gone_nodes(examined)
    yield from _overdrawn(examined)
    yield from _overshared(examined)
    yield from _same_device(examined)
    yield from _beside_plugins(examined)


def _incomplete(examined: Examined) -> Iterator[Diagnosis]:
    """Pools that lack slices, by driver."""
    found: dict[str, list[PoolId]] = {}
    inventory = examined.devices.inventory
    newest = {id: pool.generation(pool.newest) for id, pool in sorted(inventory.pools.items())}
    for id, generation in newest.items():
        if not generation.is_complete:
            found.setdefault(id.driver, []).append(id)
    for driver, pools in found.items():
        nodes = {each.node_name for id in pools for each in newest[id].slices if each.node_name}
        where = f" on {_listed(sorted(nodes))}" if nodes else ""
        objects = [_pool(id, sum(len(each.devices) for each in newest[id].slices)) for id in pools]
        yield Diagnosis(
            INCOMPLETE_POOL,
            "lacks slices of its newest generation",
            objects,
            f"if that lasts, look at the pods of {driver}{where}",
            command("devices", f"--driver={driver}"),
        )


def _invalid(examined: Examined) -> Iterator[Diagnosis]:
    """Pools that contradict themselves, by what is wrong with them."""
    found: dict[tuple[str, str], list[PoolId]] = {}
    for id, reason in examined.devices.invalid_pools():
        found.setdefault((id.driver, reason), []).append(id)
    for (driver, reason), pools in found.items():
        more = command("devices", f"--driver={driver}")
        yield Diagnosis(INVALID_POOL, reason, [_pool(id) for id in pools], command=more)


def _obsolete(examined: Examined) -> Iterator[Diagnosis]:
    """Slices that are left over once their pool has all slices of a newer generation, by driver."""
    found: dict[str, list[Slice]] = {}
    for id, pool in sorted(examined.devices.inventory.pools.items()):
        if pool.generation(pool.newest).is_complete:
            old = [slice for slice in pool if slice.generation < pool.newest]
            found.setdefault(id.driver, []).extend(old)
    for driver, slices in found.items():
        if slices:
            cause = f"of a former generation of a pool of {driver}, which has all slices of a newer one"
            yield Diagnosis(OBSOLETE_SLICE, cause, [_slice(each) for each in slices])


def _of_gone_nodes(examined: Examined) -> Iterator[Diagnosis]:
    """Slices for nodes that do not exist, by driver."""
    nodes = examined.state.nodes.objects
    if not nodes or "Node" in examined.state.unread:
        return
    found: dict[str, list[Slice]] = {}
    for slice in examined.devices.inventory:
        if slice.node_name and slice.node_name not in nodes:
            found.setdefault(slice.pool.driver, []).append(slice)
    for driver, slices in found.items():
        gone = sorted({each.node_name for each in slices})
        does = "does" if len(gone) == 1 else "do"
        cause = f"has devices of {driver} for {_listed(gone)}, which {does} not exist"
        yield Diagnosis(GONE_NODE, cause, [_slice(each) for each in slices])


def _overdrawn(examined: Examined) -> Iterator[Diagnosis]:
    for id, counters in examined.devices.overdrawn():
        names = ", ".join(f"{counter} of {counter_set}" for counter_set, counter in sorted(counters))
        cause = f"more is allocated of its counters than there is: {names}"
        yield Diagnosis(
            OVERDRAWN, cause, [_pool(id)], command=command("devices", f"--pool={id.pool}", "-o", "wide")
        )


def _overshared(examined: Examined) -> Iterator[Diagnosis]:
    """Devices that claims share, and of which they have more than there is, by driver and capacity."""
    found: dict[tuple[str, str], list[Device]] = {}
    for device in examined.devices:
        for name, left in examined.devices.capacity_left(device).items():
            if left.sign() < 0 and not examined.devices.is_obsolete(device):
                found.setdefault((device.id.driver, name), []).append(device)
    for (driver, name), devices in found.items():
        cause = f"more is allocated of its {name} than there is"
        objects = [Affected("device", "", str(each.id)) for each in devices]
        yield Diagnosis(
            OVERDRAWN, cause, objects, command=command("devices", f"--driver={driver}", "-o", "wide")
        )


def _same_device(examined: Examined) -> Iterator[Diagnosis]:
    """Devices of a node with the same PCI address, by the drivers that publish them."""
    places: dict[tuple[str, str], list[Device]] = {}
    for device in examined.devices:
        address = (device.attributes.get(PCI_ADDRESS) or {}).get("string")
        node = device.placement.get("nodeName", "")
        if address and node and not examined.devices.is_obsolete(device):
            places.setdefault((node, address), []).append(device)
    found: dict[tuple[str, ...], list[Device]] = {}
    for _, devices in sorted(places.items()):
        if not _is_one_device(devices):
            found.setdefault(tuple(sorted({each.id.driver for each in devices})), []).extend(devices)
    for drivers, devices in found.items():
        by = " and ".join(drivers) if len(drivers) > 1 else f"{drivers[0]} several times"
        cause = f"has the PCI address of another device of its node; they are published by {by}"
        yield Diagnosis(SAME_DEVICE, cause, [Affected("device", "", str(each.id)) for each in devices])


def _is_one_device(devices: list[Device]) -> bool:
    """Whether it is a single device, or partitions that draw from common counters."""
    first = devices[0]
    sets = {name for name, _, _ in first.consumes}
    return all(
        each is first
        or (each.slice.pool == first.slice.pool and any(name in sets for name, _, _ in each.consumes))
        for each in devices
    )


def _beside_plugins(examined: Examined) -> Iterator[Diagnosis]:
    """Nodes with a device plugin and a DRA driver of one vendor, by vendor."""
    drivers: dict[str, dict[str, str]] = {}
    for slice in examined.devices.inventory:
        if slice.node_name and any(map(_is_hardware, slice.devices)):
            vendors = drivers.setdefault(slice.node_name, {})
            vendors.update(dict.fromkeys(_vendors(slice.pool.driver), slice.pool.driver))
    found: dict[str, tuple[str, list[Affected]]] = {}
    for name, node in examined.state.nodes.objects.items():
        for resource, amount in node.allocatable.items() if name in drivers else ():
            vendor = resource.partition("/")[0]
            driver = drivers[name].get(vendor, "")
            if driver and not amount.is_zero() and not resource.startswith(IMPLICIT_PREFIX):
                cause = f"has {resource} of a device plugin, and devices of the driver {driver}"
                _, nodes = found.setdefault(vendor, (cause, []))
                if not nodes or nodes[-1].name != name:
                    nodes.append(Affected("Node", "", name))
    for _, (cause, nodes) in sorted(found.items()):
        yield Diagnosis(PLUGIN_BESIDE_DRIVER, cause, nodes)


def _is_hardware(device: Device) -> bool:
    """Whether it says where it is, or how much it has, unlike what is set up beside the devices of a plugin, such as channels between them."""
    return PCI_ADDRESS in device.attributes or bool(device.capacity)


def _vendors(driver: str) -> Iterator[str]:
    """The domains that a driver's name ends with: `gpu.nvidia.com`, `nvidia.com`, `com`."""
    while driver:
        yield driver
        driver = driver.partition(".")[2]


def _pool(id: PoolId, devices: int = 0) -> Affected:
    return Affected("pool", "", str(id), devices)


def _slice(slice: Slice) -> Affected:
    return Affected(RESOURCE_SLICE.name, "", slice.name)


def _listed(names: list[str]) -> str:
    more = len(names) - _MAX_NODES
    return ", ".join(names[:_MAX_NODES]) + (f" and {number(more, 'other node')}" if more > 0 else "")
