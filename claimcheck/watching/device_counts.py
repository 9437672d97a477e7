"""How many devices a cluster has free, held and out of reach, by driver and by DeviceClass, as `claimcheck devices` judges each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from allocator.devices import Device
from allocator.selection import Selectors
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers.devices import cluster_devices
from claimcheck.answers.devices.cluster_devices import ClusterDevices, chooses

#: Stranded is what nobody holds, and nobody can get either: tainted, on a node that is closed, or beside others that use up what it needs.
FREE, HELD, STRANDED, UNUSABLE = STATES = ("free", "held", "stranded", "unusable")
_STATES = {
    cluster_devices.FREE: FREE,
    cluster_devices.ALLOCATED: HELD,
    cluster_devices.SHARED: HELD,
    cluster_devices.USED_UP: STRANDED,
    cluster_devices.OTHER_GROUPS: STRANDED,
}
_EFFECTS = ("NoSchedule", "NoExecute")
#: So many drivers and classes are told apart, the first by name; what the others have is one more, whose name no object can have.
MOST_NAMES, OTHERS = 100, "(others)"
#: The node pools of devices that are for several nodes, and of nodes without the label; no label has such a value.
SEVERAL, NONE = "(several)", "(none)"
#: So many kinds of devices are asked of at once.
AT_ONCE = 1_000


class Counts(NamedTuple):
    """The devices of a driver or class.

    :param states: how many are in each state.
    :param largest: the most that are free on one node, each by itself: of parts that share counters fewer may fit together.
    """

    states: Mapping[str, int]
    largest: int


class DeviceCounts(NamedTuple):
    """The devices of a cluster by driver, by class, and by node pool and driver.

    :param unknown: how many classes are left out as their selectors take too long.
    """

    drivers: Mapping[str, Counts]
    classes: Mapping[str, Counts]
    unknown: int
    node_pools: Mapping[tuple[str, str], Counts]


def count_devices(devices: ClusterDevices, limit: TimeLimit, pool_label: str = "") -> DeviceCounts:
    """Count the devices of the newest generations of all pools.

    :param limit: how long the selectors of all classes may take.
    :param pool_label: the label of nodes that says to which node pool they belong; empty: there are none.
    """
    kinds = devices.kinds()
    places: dict[_Place, _Place] = {}
    tallies = [_tally(devices, alike, places) for alike in kinds]
    by_driver: dict[str, list[_Tally]] = {}
    by_pool: dict[tuple[str, str], list[_Tally]] = {}
    for alike, tally in zip(kinds, tallies, strict=True):
        driver = alike[0].id.driver
        by_driver.setdefault(driver, []).append(tally)
        for pool, some in _by_node_pool(devices, tally, pool_label).items() if pool_label else ():
            by_pool.setdefault((pool, driver), []).append(some)
    by_class = _by_class(devices, list(zip(kinds, tallies, strict=True)), limit)
    unknown = len(devices.state.classes) - len(by_class)
    return DeviceCounts(
        _bounded(by_driver, OTHERS), _bounded(by_class, OTHERS), unknown, _bounded(by_pool, (OTHERS, OTHERS))
    )


def _by_class(
    devices: ClusterDevices, kinds: Sequence[tuple[Sequence[Device], _Tally]], limit: TimeLimit
) -> dict[str, list[_Tally]]:
    """The devices of each class; a class is left out if there is no time to ask for all kinds.

    Some kinds after the other, as what is asked of takes more memory than all else of a device.
    """
    selectors, classes = Selectors(devices.state.features.minor), devices.state.classes
    found: dict[str, list[_Tally]] = {name: [] for name in sorted(classes)}
    starts = range(0, len(kinds), AT_ONCE)
    for place, start in enumerate(starts):
        part, some = limit.share(len(starts) - place), kinds[start : start + AT_ONCE]
        for name in list(found):
            try:
                found[name] += [
                    tally
                    for alike, tally in some
                    if chooses(classes[name], alike[0], selectors, part) is True
                ]
            except OutOfTime:
                for late in [each for each in found if each >= name]:
                    del found[late]
                break
        for alike, _ in some:
            alike[0].shape.properties.let_go()
    return found


_Name = TypeVar("_Name", str, tuple[str, str])
_Place = tuple[str, str]
"""The state of a device, and its node, or its pool if that is for several."""
_Tally = Sequence[_Place]
"""Of devices between which no selector tells a difference; all devices of a large cluster may differ, so that it has to be small."""


def _tally(devices: ClusterDevices, alike: Iterable[Device], places: dict[_Place, _Place]) -> _Tally:
    found = ((_state(devices, each), each.placement.get("nodeName") or f"/{each.id.pool}") for each in alike)
    return tuple(places.setdefault(each, each) for each in found)


def _state(devices: ClusterDevices, device: Device) -> str:
    state = _STATES.get(devices.status(device), UNUSABLE)
    if state == FREE and (_is_tainted(devices, device) or devices.closed(device) is not None):
        return STRANDED
    return state


def _is_tainted(devices: ClusterDevices, device: Device) -> bool:
    return devices.state.features.device_taints and any(each.effect in _EFFECTS for each in device.taints)


def _by_node_pool(devices: ClusterDevices, tally: _Tally, label: str) -> dict[str, list[_Place]]:
    nodes, found = devices.snapshot.nodes, dict[str, list[_Place]]()
    for place in tally:
        node = nodes.get(place[1])
        pool = (node.labels.get(label) or NONE) if node is not None else NONE
        found.setdefault(SEVERAL if place[1].startswith("/") else pool, []).append(place)
    return found


def _bounded(tallies: Mapping[_Name, list[_Tally]], others_name: _Name) -> dict[_Name, Counts]:
    names = sorted(tallies)
    found = {name: _counts(tallies[name]) for name in names[:MOST_NAMES]}
    if others := [each for name in names[MOST_NAMES:] for each in tallies[name]]:
        found[others_name] = _counts(others)
    return found


def _counts(tallies: Iterable[_Tally]) -> Counts:
    found = Counter(place for each in tallies for place in each)
    states = dict.fromkeys(STATES, 0)
    for (state, _), number in found.items():
        states[state] += number
    return Counts(states, max((number for (state, _), number in found.items() if state == FREE), default=0))
