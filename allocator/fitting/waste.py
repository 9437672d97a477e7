"""What taking devices of a node wastes: numbers that are compared in order, of which lower ones are better.

1. partitions: by how much the worth of counter sets falls;
2. surplus: how big the devices are that are taken whole, as a share of the biggest;
3. shares: how much is taken from mostly free shared devices, so that the fullest are filled up first;
4. groups: how many devices are taken from mostly free topology groups, so that broken groups are used up first;
5. pools: the same for whole pools, so that nodes in use fill up first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from allocator.allocated import AllocatedState, Common, admits, joined
from allocator.attempt_state import Taken
from allocator.constraint_state import published, values_of
from allocator.devices import Device
from allocator.ledgers import Ledger, PoolState
from allocator.pools import Pool
from allocator.time_limit import TimeLimit
from resourceapi.caches import WeighedCache
from resourceapi.quantity import MAX_DIGITS, Quantity, value_of
from resourceapi.records.pools import DeviceId, PoolId
from resourceapi.standard_attributes import tells_place

# Counter sets and their worth: how many of their devices could still be taken.
# Devices that take the same amounts are of one profile (all 1g partitions of a GPU, wherever they start).
# The worth of a counter set is the sum over profiles of how many devices of that profile could still be
# taken, plus one if the set is unused. So a small partition goes where it blocks the fewest others, and
# unused sets are kept for requests that need a whole one.

#: Steps after which counting the devices of a profile stops with the best count so far.
_MAX_STEPS = 2_000
#: If a profile has more variants, they are counted greedily.
_MAX_VARIANTS = 64

#: Amounts are compared as whole numbers of 10**-9, of at most so many digits: no real one has more, and the squares of
#: their ratios are floats that are finite.
_NANO, _MOST_DIGITS = -9, 60
_HUGE: int = 10**_MOST_DIGITS
#: What one is in these units.
ONE: int = 10**-_NANO

Amounts = tuple[tuple[int, int], ...]
"""What a device takes: indexes of counters in their set, and amounts."""


def as_number(amount: Quantity) -> int:
    """An amount in units of 10**-9, rounded down; one that is larger than any real amount is cut."""
    shift = amount.scale - _NANO
    number: int
    if shift >= 0:
        number = amount.mantissa * 10 ** min(shift, _MOST_DIGITS)
    else:
        number = amount.mantissa // 10 ** min(-shift, MAX_DIGITS + 1)
    return max(min(number, _HUGE), -_HUGE)


class Variant(NamedTuple):
    """Devices that take the same from a set; `size` has the amounts without the counters."""

    takes: Amounts
    groups: frozenset[str]
    size: tuple[int, ...]


class Shape(NamedTuple):
    """A counter set without names: the totals of its counters and the variants of its devices."""

    totals: tuple[int, ...]
    variants: tuple[Variant, ...]


class CounterSetState(NamedTuple):
    """The state of a counter set: what is left of the counters, the number of free devices by variant, and the groups in use."""

    left: tuple[int, ...]
    free: tuple[int, ...]
    groups: Common | None


class CounterSet:
    """A counter set of a pool; `variant` has the index of the variant of each device that takes from it."""

    __slots__ = ("counters", "name", "shape", "variant")

    def __init__(self, name: str, pool: Pool) -> None:
        self.name = name
        totals = pool.counters.sets[name]
        self.counters = {counter: place for place, counter in enumerate(totals)}
        self.variant: dict[Device, int] = {}
        variants: dict[Variant, int] = {}
        for device in pool.devices:
            for entry in device.consumes if not device.multiple else ():
                if entry.counter_set == name:
                    variant = self._variant(device, entry.groups)
                    self.variant[device] = variants.setdefault(variant, len(variants))
        amounts = tuple(as_number(each) for each in totals.values())
        self.shape = Shape(amounts, tuple(variants))

    def _variant(self, device: Device, groups: frozenset[str]) -> Variant:
        takes = tuple(
            sorted(
                (self.counters[counter], as_number(amount))
                for entry in device.consumes
                if entry.counter_set == self.name
                for counter, amount in entry.counters.items()
            )
        )
        return Variant(takes, groups, tuple(sorted(amount for _, amount in takes)))

    def state(self, ledger: Ledger, held: Iterable[Device]) -> CounterSetState:
        """The state of the set.

        :param held: the devices of the pool that are allocated.
        """
        left = tuple(
            as_number(amount)
            for counter in self.counters
            if (amount := ledger.left(self.name, counter)) is not None
        )
        free = [0] * len(self.shape.variants)
        for variant in self.variant.values():
            free[variant] += 1
        for device in held:
            if device in self.variant:
                free[self.variant[device]] -= 1
        return CounterSetState(left, tuple(free), ledger.groups.get(self.name))

    def after(self, state: CounterSetState, device: Device) -> CounterSetState:
        """The state after one more device is taken."""
        place = self.variant[device]
        variant = self.shape.variants[place]
        left = list(state.left)
        for counter, amount in variant.takes:
            left[counter] -= amount
        free = list(state.free)
        free[place] -= 1
        return CounterSetState(tuple(left), tuple(free), joined(state.groups, variant.groups))


#: How much memory the worths that are known may take, and about how much a number of a shape or state takes.
MOST_BYTES, NUMBER_BYTES = 16 << 20, 40


class Worths:
    """The worth of counter sets as far as it is known, by shape: many nodes have the same ones. The driver with most makes room."""

    def __init__(self) -> None:
        self._known: WeighedCache[Shape, WorthsOfShape] = WeighedCache(MOST_BYTES)

    def of(self, shape: Shape, driver: str) -> WorthsOfShape:
        """Those of the counter sets of a shape."""
        found = self._known.use(shape, driver)
        if found is None:
            found = WorthsOfShape(shape, partial(self._known.weigh, shape))
            self._known.put(shape, found, found.weight, driver)
        return found


class WorthsOfShape:
    """The worth of counter sets of a shape, by state."""

    __slots__ = ("_known", "_shape", "_weigh", "weight")

    def __init__(self, shape: Shape, weigh: Callable[[int], None]) -> None:
        """`weigh` is told how many bytes they take, about, when that has changed."""
        self._shape = shape
        self._weigh = weigh
        self._known: dict[CounterSetState, int] = {}
        numbers = len(shape.totals) + sum([3 * len(each.takes) + 5 for each in shape.variants])
        #: about how many bytes they take
        self.weight = NUMBER_BYTES * numbers

    def of(self, state: CounterSetState, time_limit: TimeLimit) -> int:
        """The worth in a state; see the module.

        :raises OutOfTime: if it is not known and the time is over: it may take a tenth of a second.
        """
        found = self._known.get(state)
        if found is None:
            time_limit.check()
            unused = state.groups is None and state.left == self._shape.totals
            found = sum(count for _, count in placeable(self._shape, state)) + unused
            self._known[state] = found
            self.weight += NUMBER_BYTES * (len(state.left) + len(state.free) + 5)
            self._weigh(self.weight)
        return found


def placeable(shape: Shape, state: CounterSetState) -> list[tuple[tuple[int, ...], int]]:
    """How many devices of each profile, given by its amounts, could still be taken."""
    profiles: dict[tuple[int, ...], list[tuple[Amounts, int]]] = {}
    for variant, free in zip(shape.variants, state.free, strict=True):
        found = profiles.setdefault(variant.size, [])
        if free > 0 and admits(state.groups, variant.groups):
            found.append((variant.takes, free))
    return [(size, _most(state.left, variants)) for size, variants in profiles.items()]


def _most(left: Sequence[int], variants: Sequence[tuple[Amounts, int]]) -> int:
    """The largest number of devices that fit; a lower bound if there are many variants or steps."""
    steps = 0

    def search(place: int, left: Sequence[int]) -> int:
        nonlocal steps
        steps += 1
        if place == len(variants):
            return 0
        takes, free = variants[place]
        best = 0
        for count in range(_fitting(left, takes, free), -1, -1):
            best = max(best, count + search(place + 1, _without(left, takes, count)))
            if steps > _MAX_STEPS:
                break
        return best

    return search(0, left) if len(variants) <= _MAX_VARIANTS else _greedily(left, variants)


def _greedily(left: Sequence[int], variants: Sequence[tuple[Amounts, int]]) -> int:
    found = 0
    for takes, free in variants:
        count = _fitting(left, takes, free)
        left = _without(left, takes, count)
        found += count
    return found


def _fitting(left: Sequence[int], takes: Amounts, free: int) -> int:
    """How many devices that take so much fit, `free` at most."""
    most = min((left[counter] // amount for counter, amount in takes if amount > 0), default=free)
    return max(min(most, free), 0)


def _without(left: Sequence[int], takes: Amounts, count: int) -> Sequence[int]:
    if not count:
        return left
    remaining = list(left)
    for counter, amount in takes:
        remaining[counter] -= amount * count
    return remaining


Waste = tuple[float, ...]
#: Counter sets with more variants of devices are ignored.
MAX_VARIANTS = 512
_DIGITS = 9


class NodeWaste:
    """The waste of allocations on one node in its present state."""

    def __init__(
        self,
        states: Iterable[PoolState],
        allocated: AllocatedState,
        attributes: Iterable[str],
        worths: Worths,
        time_limit: TimeLimit,
    ) -> None:
        """Read the state of a node.

        :param attributes: the full names of attributes that `matchAttribute` constraints name.
        :param time_limit: of this and all questions; it is looked at for each device.
        """
        self._worths = worths
        self._time_limit = time_limit
        self._states = {state.pool.id: state for state in states if state.pool.usable}
        self._allocated = allocated
        self._attributes = tuple(dict.fromkeys(attributes))
        self._sets: dict[PoolId, list[tuple[CounterSet, CounterSetState, WorthsOfShape]]] = {}
        self._free: dict[object, int] = {}
        self._groups: dict[Device, list[object]] = {}
        self._biggest: dict[tuple[str, str], float] = {}
        for state in self._states.values():
            for device in state.pool.devices:
                self._add(device)

    def _add(self, device: Device) -> None:
        keys: list[object] = [device.slice.pool]
        names = filter(tells_place, device.attributes)
        for name in dict.fromkeys((*self._attributes, *names)):
            found = published(device, name)
            values = values_of(found) if found is not None else None
            keys += (
                [(device.id.driver, name, value) for value in sorted(values[1], key=str)] if values else []
            )
        self._groups[device] = keys
        if device.id not in self._allocated.whole and not device.multiple:
            for key in keys:
                self._free[key] = self._free.get(key, 0) + 1
        for name, capacity in device.capacity.items():
            amount = as_number(value_of(capacity))
            key = (device.id.driver, name)
            self._biggest[key] = max(self._biggest.get(key, 0.0), amount)

    def of(self, taken: Sequence[Taken]) -> Waste:
        """The waste of taking all these devices."""
        counted = [each for each in taken if not each.alternative.admin_access]
        whole = [each.device for each in counted if each.capacity is None]
        numbers = (
            float(self._partitions(whole)),
            sum(map(self._surplus, whole)),
            self._shares([each for each in counted if each.capacity is not None]),
            self._group_waste(key for device in whole for key in self._groups[device][1:]),
            self._group_waste(self._groups[device][0] for device in whole),
        )
        return tuple(round(number, _DIGITS) for number in numbers)

    def of_device(self, device: Device) -> Waste:
        """The waste of taking one device as a whole; for a shared device, how much of it is free."""
        if device.multiple:
            return (0.0, 0.0, round(self._free_share(device), _DIGITS), 0.0, 0.0)
        numbers = (
            float(self._partitions((device,))),
            self._surplus(device),
            0.0,
            self._group_waste(self._groups[device][1:]),
            self._group_waste(self._groups[device][:1]),
        )
        return tuple(round(number, _DIGITS) for number in numbers)

    def groups_of(self, device: Device) -> list[object]:
        """Keys of the counter sets and topology groups that a device belongs to."""
        return [
            *((device.slice.pool, entry.counter_set) for entry in device.consumes),
            *self._groups[device][1:],
        ]

    def _partitions(self, devices: Iterable[Device]) -> int:
        loss = 0
        by_pool: dict[PoolId, list[Device]] = {}
        for device in devices:
            if device.consumes:
                by_pool.setdefault(device.slice.pool, []).append(device)
        for pool, members in by_pool.items():
            for counter_set, before, worths in self._states_of_sets(pool):
                after = before
                for device in members:
                    if device in counter_set.variant:
                        after = counter_set.after(after, device)
                if after is not before:
                    loss += worths.of(before, self._time_limit) - worths.of(after, self._time_limit)
        return loss

    def _states_of_sets(self, pool: PoolId) -> list[tuple[CounterSet, CounterSetState, WorthsOfShape]]:
        found = self._sets.get(pool)
        if found is None:
            state = self._states[pool]
            held = [device for device in state.pool.devices if device.id in self._allocated.whole]
            sets = []
            for name in state.pool.counters.sets:
                self._time_limit.check()
                sets.append(CounterSet(name, state.pool))
            found = self._sets[pool] = [
                (each, each.state(state.ledger, held), self._worths.of(each.shape, pool.driver))
                for each in sets
                if len(each.shape.variants) <= MAX_VARIANTS
            ]
        return found

    def _surplus(self, device: Device) -> float:
        return sum(
            as_number(value_of(capacity)) / biggest
            for name, capacity in device.capacity.items()
            if (biggest := self._biggest[device.id.driver, name]) > 0
        )

    def _shares(self, taken: Iterable[Taken]) -> float:
        """By how much the squares of free shares fall: the same amount costs less if less is free."""
        waste = 0.0
        free: dict[tuple[DeviceId, str], float] = {}
        for device, _, amounts in taken:
            for name, amount in (amounts or {}).items():
                total = as_number(value_of(device.capacity[name]))
                key = (device.id, name)
                before = free[key] if key in free else self._free_part(device, name)
                if total > 0:
                    free[key] = before - as_number(amount) / total
                    waste += before**2 - free[key] ** 2
        return waste

    def _free_share(self, device: Device) -> float:
        return sum(self._free_part(device, name) for name in device.capacity)

    def _free_part(self, device: Device, name: str) -> float:
        """The share of a capacity that is free."""
        total = as_number(value_of(device.capacity[name]))
        used = (self._allocated.capacity.get(device.id) or {}).get(name)
        return 1 - as_number(used) / total if used is not None and total > 0 else 1.0

    def _group_waste(self, keys: Iterable[object]) -> float:
        """By how much the squares of the numbers of free devices fall, summed over groups."""
        drawn: dict[object, int] = {}
        for key in keys:
            drawn[key] = drawn.get(key, 0) + 1
        return float(
            sum(
                self._free.get(key, 0) ** 2 - (self._free.get(key, 0) - count) ** 2
                for key, count in drawn.items()
            )
        )
