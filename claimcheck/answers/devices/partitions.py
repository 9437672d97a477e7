"""The devices of a pool that are parts of the same: how they share its counters, and which of them can be in use together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from allocator.allocated import AllocatedState
from allocator.devices import Device
from allocator.rules.standing import is_selectable
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers.devices.cluster_devices import GATE_OFF, ClusterDevices
from claimcheck.answers.devices.fills import share
from claimcheck.answers.devices.pool_left import PoolLeft
from resourceapi.quantity import Quantity
from resourceapi.records.claims import Allocation
from resourceapi.records.pools import PoolId

#: Of so many devices on a counter set it is told which go together.
MOST_PAIRED = 64


class Partition(NamedTuple):
    """A device on a counter set.

    :param shares: how much of each counter from which it takes, from 0 to 1.
    """

    device: Device
    shares: Mapping[str, float]
    groups: frozenset[str]


class CounterSet(NamedTuple):
    """A counter set, with the total of each counter, and the devices that take from it."""

    name: str
    counters: Mapping[str, Quantity]
    partitions: Sequence[Partition]


class Pairs(NamedTuple):
    """Which devices of counter sets that are alike can be in use together, two at a time and nothing else.

    :param counter_sets: their names; the devices are those of the first.
    :param refused: the places of two devices that cannot, and why.
    :param more: how many devices were not looked at.
    """

    counter_sets: Sequence[str]
    devices: Sequence[str]
    refused: Mapping[tuple[int, int], str]
    more: int


def counter_sets(devices: ClusterDevices, id: PoolId) -> list[CounterSet]:
    """The counter sets of a pool, in the order of its slices."""
    pool = devices.pool(id)
    if pool is None:
        return []
    found = {name: CounterSet(name, counters, []) for name, counters in pool.counters.sets.items()}
    taken: dict[str, list[Partition]] = {name: [] for name in found}
    for device in (*pool.devices, *pool.elsewhere):
        for name, takes, groups in device.consumes:
            if name in found:
                totals = found[name].counters
                shares = {
                    counter: share(amount, totals[counter])
                    for counter, amount in takes.items()
                    if counter in totals
                }
                taken[name].append(Partition(device, shares, groups))
    return [each._replace(partitions=taken[name]) for name, each in found.items()]


class Together:
    """Which devices of a pool can be used as well once some are, and no others."""

    def __init__(self, devices: ClusterDevices, id: PoolId) -> None:
        self._features = devices.state.features
        self._pool = devices.pool(id)

    @property
    def devices(self) -> Mapping[str, Device]:
        """Those that are looked at, by name."""
        pool = self._pool
        return {} if pool is None else {each.id.device: each for each in (*pool.devices, *pool.elsewhere)}

    def refusals(self, chosen: Collection[Device], among: Iterable[Device]) -> Iterator[tuple[Device, str]]:
        """The other devices that cannot be in use together with those, and why."""
        if self._pool is None:
            return
        left = PoolLeft(self._pool, self._in_use(chosen))
        for device in among:
            if device not in chosen and (why := self._off(device) or left.refusal(device)):
                yield device, why

    def _in_use(self, chosen: Iterable[Device]) -> AllocatedState:
        """What is allocated if nothing else is; the groups of devices are those of their slices."""
        allocated = AllocatedState(self._features)
        allocated.has_snapshots = False
        results = [{"request": "chosen", **each.id._asdict()} for each in chosen]
        allocated.add(Allocation({"devices": {"results": results}}))
        return allocated

    def _off(self, device: Device) -> str:
        return "" if is_selectable(device.shape, self._features) else GATE_OFF

    def pairs(self, sets: Iterable[CounterSet], limit: TimeLimit) -> Iterator[Pairs]:
        """Which devices of the same counter set can be in use together; those of different ones can."""
        alike: dict[object, list[CounterSet]] = {}
        for each in sets:
            if len(each.partitions) > 1:
                alike.setdefault(_kind(each), []).append(each)
        for found in alike.values():
            try:
                yield self._pairs(found, limit)
            except OutOfTime:
                return

    def _pairs(self, sets: Sequence[CounterSet], limit: TimeLimit) -> Pairs:
        partitions = sets[0].partitions
        devices = [each.device for each in partitions[:MOST_PAIRED]]
        places = {id(each): place for place, each in enumerate(devices)}
        refused: dict[tuple[int, int], str] = {}
        for place, device in enumerate(devices):
            limit.check()
            for other, why in self.refusals([device], devices[place + 1 :]):
                refused[place, places[id(other)]] = why
        names = [each.id.device for each in devices]
        return Pairs([each.name for each in sets], names, refused, len(partitions) - len(devices))


def _kind(found: CounterSet) -> object:
    """Equal for counter sets whose devices exclude each other in the same way."""
    if any(len(each.device.consumes) > 1 for each in found.partitions):
        return found.name  # what they take elsewhere matters as well
    return (
        tuple((name, str(total)) for name, total in found.counters.items()),
        tuple(
            (tuple((name, str(amount)) for name, amount in sorted(takes.items())), groups)
            for each in found.partitions
            for _, takes, groups in each.device.consumes
        ),
    )
