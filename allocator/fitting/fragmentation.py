"""How fragmented the free devices of a cluster are.

For each kind of partition: how many could still be placed, and for how many all free counters together would suffice.
For topology groups: how many are unused. For shared devices: the free capacity, in total and in one device.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from allocator.allocated import AllocatedState
from allocator.constraint_state import published, values_of
from allocator.devices import Device
from allocator.fitting.waste import (
    ONE,
    CounterSet,
    CounterSetState,
    Shape,
    as_number,
    placeable,
)
from allocator.ledgers import PoolState
from resourceapi.quantity import value_of
from resourceapi.records.pools import PoolId
from resourceapi.standard_attributes import tells_place

Size = tuple[float, ...]


class PartitionFragmentation(NamedTuple):
    """One kind of partition of a driver.

    :param placeable: how many could still be taken if nothing else was.
    :param sufficient: for how many the free counters would suffice if they were in one counter set.
    :param whole: how many an empty cluster has.
    :param sets: in how many counter sets at least one could be taken.
    """

    driver: str
    profile: str
    placeable: int
    sufficient: int
    whole: int
    sets: int


class GroupFragmentation(NamedTuple):
    """Groups of devices with the same value of an attribute, or of one pool if `attribute` is empty.

    :param groups: the number of groups.
    :param intact: how many of them are unused.
    :param free: the number of free devices in all groups.
    :param largest: the number of free devices in the group that has most.
    """

    driver: str
    attribute: str
    groups: int
    intact: int
    devices: int
    free: int
    largest: int


class ShareFragmentation(NamedTuple):
    """A capacity of shared devices: the total, the free amount, and the largest amount that is free in one device."""

    driver: str
    capacity: str
    devices: int
    total: float
    free: float
    largest: float


class Fragmentation(NamedTuple):
    """The fragmentation of a cluster's partitions, topology groups and shared devices."""

    partitions: list[PartitionFragmentation]
    groups: list[GroupFragmentation]
    shares: list[ShareFragmentation]


def fragmentation(
    pools: Mapping[PoolId, PoolState], allocated: AllocatedState, attributes: Iterable[str] = ()
) -> Fragmentation:
    """The fragmentation of pools.

    :param attributes: the full names of attributes by which devices form groups, besides the standard ones.
    """
    states = [state for state in pools.values() if state.pool.usable]
    return Fragmentation(
        _partitions(states, allocated),
        _groups(states, allocated, tuple(attributes)),
        _shares(states, allocated),
    )


class _Tally:
    """The sums of one kind of partition over counter sets."""

    def __init__(self) -> None:
        self.placeable = self.whole = self.sets = 0
        #: per family of counters: what is free, and what one device takes
        self.families: dict[frozenset[str], tuple[float, float]] = {}
        self.devices: list[Device] = []

    @property
    def sufficient(self) -> int:
        bounds = [free // need for free, need in self.families.values() if need > 0]
        return max(int(min([*bounds, self.whole])), self.placeable)


def _partitions(states: Sequence[PoolState], allocated: AllocatedState) -> list[PartitionFragmentation]:
    tallies: dict[tuple[str, Size], _Tally] = {}
    for state in states:
        held = [device for device in state.pool.devices if device.id in allocated.whole]
        for name in state.pool.counters.sets:
            counter_set = CounterSet(name, state.pool)
            _add_set(tallies, state.pool.id.driver, counter_set, counter_set.state(state.ledger, held))
    labels = _labels({key: tally.devices for key, tally in tallies.items()})
    return [
        PartitionFragmentation(
            key[0], labels[key], tally.placeable, tally.sufficient, tally.whole, tally.sets
        )
        for key, tally in sorted(
            tallies.items(), key=lambda entry: (entry[0][0], [-each for each in entry[0][1][::-1]])
        )
    ]


def _add_set(
    tallies: dict[tuple[str, Size], _Tally], driver: str, counter_set: CounterSet, state: CounterSetState
) -> None:
    shape = counter_set.shape
    counts = [0] * len(shape.variants)
    for variant in counter_set.variant.values():
        counts[variant] += 1
    empty = dict(placeable(shape, CounterSetState(shape.totals, tuple(counts), None)))
    names = list(counter_set.counters)
    for size, number in placeable(shape, state):
        tally = tallies.setdefault((driver, size), _Tally())
        tally.placeable += number
        tally.whole += empty[size]
        tally.sets += number > 0
        for family, need in _needs(shape, size):
            key = frozenset(names[counter] for counter in family)
            free = sum(max(state.left[counter], 0.0) for counter in family)
            tally.families[key] = (tally.families.get(key, (0.0, need))[0] + free, need)
        tally.devices += [
            device for device, variant in counter_set.variant.items() if shape.variants[variant].size == size
        ]


def _needs(shape: Shape, size: Size) -> list[tuple[frozenset[int], int]]:
    """What a device of a profile takes of each family of counters."""
    takes = [variant.takes for variant in shape.variants if variant.size == size]
    found = []
    for family in _families(shape):
        need = max(sum(amount for counter, amount in each if counter in family) for each in takes)
        if need > 0:
            found.append((family, need))
    return found


@lru_cache(maxsize=1024)
def _families(shape: Shape) -> tuple[frozenset[int], ...]:
    """Interchangeable counters: some profile can take one or the other, such as the memory slices of a GPU."""
    family = {counter: frozenset((counter,)) for counter in range(len(shape.totals))}
    profiles: dict[Size, list[dict[int, float]]] = {}
    for variant in shape.variants:
        profiles.setdefault(variant.size, []).append(dict(variant.takes))
    for takes in profiles.values():
        used = {counter for each in takes for counter in each}
        varying = {counter for counter in used if len({each.get(counter, 0.0) for each in takes}) > 1}
        united = frozenset().union(*(family[counter] for counter in varying))
        family.update(dict.fromkeys(united, united))
    return tuple(dict.fromkeys(family.values()))


def _labels(devices: Mapping[tuple[str, Size], Sequence[Device]]) -> dict[tuple[str, Size], str]:
    """A name for each kind of partition: an attribute by which they differ, else an example."""
    found = {}
    for driver in {key[0] for key in devices}:
        kinds = {key: members for key, members in devices.items() if key[0] == driver}
        values = {
            name: {key: _one_value(members, name) for key, members in kinds.items()}
            for name in sorted({name for members in kinds.values() for name in members[0].attributes})
        }
        for key, members in kinds.items():
            telling = [name for name, each in values.items() if _tells(each)]
            found[key] = values[telling[0]][key] if telling else f"like {members[0].id.device}"
    return found


def _one_value(devices: Sequence[Device], name: str) -> str:
    """The one value of an attribute that all these devices have; empty if there is none."""
    values = {str(next(iter((device.attributes.get(name) or {"": ""}).values()))) for device in devices}
    return values.pop() if len(values) == 1 else ""


def _tells(values: Mapping[tuple[str, Size], str]) -> bool:
    """Whether every kind has a value of its own."""
    return all(values.values()) and len(set(values.values())) == len(values)


def _groups(
    states: Sequence[PoolState], allocated: AllocatedState, attributes: Sequence[str]
) -> list[GroupFragmentation]:
    members: dict[tuple[str, str], dict[object, list[bool]]] = {}
    for state in states:
        for device in state.pool.devices:
            if device.consumes or device.multiple:
                continue
            free = device.id not in allocated.whole
            standard = filter(tells_place, device.attributes)
            driver, pool = device.slice.pool
            members.setdefault((driver, ""), {}).setdefault(pool, []).append(free)
            for name in dict.fromkeys((*attributes, *standard)):
                attribute = published(device, name)
                values = values_of(attribute) if attribute is not None else None
                for value in values[1] if values else ():
                    members.setdefault((driver, name), {}).setdefault((pool, value), []).append(free)
    return [
        GroupFragmentation(
            driver,
            name,
            len(groups),
            sum(map(all, groups.values())),
            sum(map(len, groups.values())),
            sum(map(sum, groups.values())),
            max(map(sum, groups.values())),
        )
        for (driver, name), groups in sorted(members.items())
    ]


def _shares(states: Sequence[PoolState], allocated: AllocatedState) -> list[ShareFragmentation]:
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for state in states:
        for device in state.pool.devices:
            if not device.multiple:
                continue
            used = allocated.capacity.get(device.id) or {}
            gone = device.id in allocated.whole
            for name, capacity in device.capacity.items():
                total = as_number(value_of(capacity))
                taken = as_number(used[name]) if name in used else 0
                key = (device.id.driver, name)
                found.setdefault(key, []).append((total, 0 if gone else max(total - taken, 0)))
    return [
        ShareFragmentation(
            driver,
            name,
            len(free_amounts),
            sum(total for total, _ in free_amounts) / ONE,
            sum(free for _, free in free_amounts) / ONE,
            max(free for _, free in free_amounts) / ONE,
        )
        for (driver, name), free_amounts in sorted(found.items())
    ]
