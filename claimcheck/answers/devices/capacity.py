"""How much of a cluster's devices is free: for each model and class, alone, as whole nodes and near each other; and what nobody gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from heapq import nsmallest
from typing import NamedTuple

from allocator.constraint_state import published
from allocator.devices import Device
from allocator.fitting.fragmentation import Fragmentation, fragmentation
from allocator.pod_nodes import CORDONED
from allocator.selection import Selectors
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers.devices.cluster_devices import ALLOCATED, FREE, SHARED, ClusterDevices, chooses
from resourceapi.standard_attributes import STANDARD_ATTRIBUTES, tells_place

#: By these attributes, without a domain, drivers say what they sell; the first that a device has counts.
MODELS = ("productName", "model")
#: What tells partitions of one model apart.
PROFILE = "profile"
#: How many devices near each other are looked for.
SIZES = (2, 4, 8)
#: What devices are on if they are on one node, beside attributes.
NODE = "node"
#: So many attributes that tell places are counted by: Kubernetes has three.
MOST_PLACES = 16


class Stock(NamedTuple):
    """What there is of some devices.

    :param device_class: the class that chooses them; empty for those of a driver.
    :param driver: empty for those of a class.
    :param model: as their attributes say; may be empty.
    :param held: by claims, also in part.
    :param free: what a request without tolerations gets now. Partitions count each by itself, though they overlap.
    :param whole_nodes: nodes of which all these devices are free.
    :param on_whole_nodes: how many these are.
    :param near: by what is the same for them (:data:`NODE`, or an attribute) and their number, how many sets of free devices there are.
    :param stranded: devices that nobody holds and such requests do not get, by the reason.
    """

    device_class: str
    driver: str
    model: str
    devices: int
    held: int
    free: int
    whole_nodes: int
    on_whole_nodes: int
    near: Mapping[str, Mapping[int, int]]
    stranded: Mapping[str, int]


class Capacity(NamedTuple):
    """What there is of all devices.

    :param models: for each driver and model.
    :param classes: for each class by whose selectors there was time to look.
    :param late: the other classes.
    :param left: partitions, groups and shared devices; None if there was no time.
    """

    models: Sequence[Stock]
    classes: Sequence[Stock]
    late: Sequence[str]
    left: Fragmentation | None


def capacity(devices: ClusterDevices, limit: TimeLimit, chosen: Iterable[Device] | None = None) -> Capacity:
    """Count the devices of the newest generations.

    :param limit: how long it may take to ask the selectors of classes.
    :param chosen: the only ones that count.
    """
    models: dict[tuple[str, str], list[Device]] = {}
    of_kind: dict[object, list[Device]] = {}
    for device in devices if chosen is None else chosen:
        if not devices.is_obsolete(device):
            models.setdefault((device.id.driver, model_of(device)), []).append(device)
            of_kind.setdefault(device.shape.properties, []).append(device)
    count = _Count(devices, _places(each[0] for each in of_kind.values()))
    selectors = Selectors(devices.state.features.minor)
    classes, late = [], []
    for name, device_class in sorted(devices.state.classes.items()):
        try:
            kinds = [
                each for each in of_kind.values() if chooses(device_class, each[0], selectors, limit) is True
            ]
            limit.check()  # a class without selectors has all devices, and there may be thousands of both
        except OutOfTime:
            late.append(name)
            continue
        classes.append(count.stock([device for kind in kinds for device in kind], device_class=name))
    left: Fragmentation | None = None
    with suppress(OutOfTime):
        left = fragmentation(devices.cluster.pools(limit), devices.allocated)
    found = [count.stock(each, *name) for name, each in sorted(models.items())]
    return Capacity(found, classes, late, left)


def model_of(device: Device) -> str:
    """What a device is, as its driver sells it; empty if it does not say so."""
    attributes = device.attributes
    model = next((_text(attributes, name) for name in MODELS if name in attributes), "")
    return " ".join(filter(None, (model, _text(attributes, PROFILE))))


def _text(attributes: Mapping[str, Mapping[str, object] | None], name: str) -> str:
    value = attributes.get(name) or {}
    return str(next(iter(value.values()), ""))


def _places(kinds: Iterable[Device]) -> Collection[str]:
    """The attributes by which devices are near each other, those of Kubernetes first."""
    names = {name for device in kinds for name in device.attributes if tells_place(name)}
    return frozenset(nsmallest(MOST_PLACES, names, key=lambda name: (name not in STANDARD_ATTRIBUTES, name)))


class _Count:
    """Counts devices, each of which may be in several counts.

    :param places: the attributes by which those are counted that are near each other.
    """

    def __init__(self, devices: ClusterDevices, places: Collection[str]) -> None:
        self._devices = devices
        self._places = places
        self._reasons: dict[int, str] = {}

    def stock(
        self, some: Sequence[Device], driver: str = "", model: str = "", *, device_class: str = ""
    ) -> Stock:
        """What there is of some devices."""
        reasons = [self._reason(each) for each in some]
        free = [device for device, reason in zip(some, reasons, strict=True) if reason == FREE]
        on_node = Counter(_node(each) for each in some)
        free_on_node = Counter(_node(each) for each in free)
        whole = [node for node, count in on_node.items() if node and free_on_node[node] == count]
        held = sum(reason in (ALLOCATED, SHARED) for reason in reasons)
        others = Counter(each for each in reasons if each not in (FREE, ALLOCATED, SHARED))
        return Stock(
            device_class,
            driver,
            model,
            devices=len(some),
            held=held,
            free=len(free),
            whole_nodes=len(whole),
            on_whole_nodes=sum(on_node[node] for node in whole),
            near=_near(free, self._places),
            stranded=dict(sorted(others.items())),
        )

    def _reason(self, device: Device) -> str:
        """The status of a device, or what keeps requests without tolerations from a free one."""
        known = self._reasons.get(id(device))
        if known is None:
            known = self._reasons[id(device)] = self._found(device)
        return known

    def _found(self, device: Device) -> str:
        status = self._devices.status(device)
        if status != FREE:
            return status
        if self._devices.is_tainted(device):
            return "tainted"
        closed = self._devices.closed(device)
        if closed is None:
            return FREE
        return "node cordoned" if closed.plugin == CORDONED else "node tainted"


def _node(device: Device) -> str:
    return str(device.placement.get("nodeName", ""))


def _near(free: Iterable[Device], places: Collection[str]) -> dict[str, dict[int, int]]:
    """How many sets there are, each device in one of them; a device with several values counts with the first, which is the nearest."""
    groups: dict[str, Counter[object]] = {}
    for device in free:
        node = _node(device)
        if not node:
            continue
        groups.setdefault(NODE, Counter())[node] += 1
        for name in filter(places.__contains__, device.attributes):
            attribute = published(device, name)
            value = next(iter((attribute or {}).values()), None)
            first = next(iter(value), None) if isinstance(value, (list, tuple)) else value
            if first is not None:
                groups.setdefault(name, Counter())[node, first] += 1
    return {
        name: {size: sum(count // size for count in counts.values()) for size in SIZES}
        for name, counts in sorted(groups.items(), key=lambda each: (each[0] != NODE, each[0]))
    }
