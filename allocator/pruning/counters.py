"""Counter sets of the candidates as whole numbers, and how many devices can be taken from them at most.

All bounds are relaxations: they look at one counter, or one sum of similar counters, at a time and ignore how requests
interact. What they call infeasible is infeasible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from allocator.allocated import Common, admits
from allocator.attempt import Attempt
from allocator.devices import Device
from allocator.rules.counters import draws
from resourceapi.quantity import Quantity
from resourceapi.records.pools import PoolId

# Sets of devices as integers: bit n is the nth candidate.


def bits(mask: int) -> Iterator[int]:
    """The members, in order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def lowest_bits(mask: int, count: int) -> int:
    """The first members only; all if there are no more."""
    if mask.bit_count() <= count:
        return mask
    found = 0
    for _ in range(count):
        lowest = mask & -mask
        found |= lowest
        mask ^= lowest
    return found


def union(masks: Iterable[int]) -> int:
    """All members of some sets."""
    found = 0
    for mask in masks:
        found |= mask
    return found


Remaining = tuple[int, ...]
"""What is left of the counters of a set, in the order of the set."""

SetKey = tuple[PoolId, str]
_MAX_SCALE_SPREAD = 100


class CounterSet:
    """A counter set with the candidates that draw from it."""

    def __init__(self, key: SetKey, counters: Sequence[str]) -> None:
        self.key = key
        self.counters = counters
        #: the candidates that draw from the set
        self.members = 0
        #: what each of them draws
        self.draws: dict[int, Remaining] = {}
        self.groups: dict[int, frozenset[str]] = {}
        self.left: Remaining = ()
        self._too_large: dict[Remaining, int] = {}
        self._at_most: dict[tuple[int, Remaining], int] = {}
        self._refused: dict[Common, int] = {}
        self.kinds = _kinds(counters)

    def add(self, index: int, draws: Remaining, groups: frozenset[str]) -> None:
        """Add what a candidate draws."""
        before = self.draws.get(index)
        if before is not None:
            draws = tuple(map(sum, zip(before, draws, strict=True)))
        self.draws[index] = draws
        self.groups[index] = groups
        self.members |= 1 << index

    def too_large(self, left: Remaining) -> int:
        """The members that draw more than is left."""
        found = self._too_large.get(left)
        if found is None:
            found = 0
            for index, draws in self.draws.items():
                if any(drawn > available for drawn, available in zip(draws, left, strict=True)):
                    found |= 1 << index
            self._too_large[left] = found
        return found

    def refused(self, common: Common | None) -> int:
        """The members whose compatibility groups are incompatible with those in use."""
        if common is None:
            return 0
        found = self._refused.get(common)
        if found is None:
            found = sum(1 << index for index, groups in self.groups.items() if not admits(common, groups))
            self._refused[common] = found
        return found

    def at_most(self, devices: int, left: Remaining) -> int:
        """The most of these members that can be taken together."""
        key = (devices, left)
        found = self._at_most.get(key)
        if found is None:
            found = self._at_most[key] = self._count(devices, left)
        return found

    def _count(self, devices: int, left: Remaining) -> int:
        drawn = [self.draws[index] for index in bits(devices & self.members)]
        best = len(drawn)
        for kind in self.kinds.values():
            available = sum(left[counter] for counter in kind)
            amounts = sorted(sum(each[counter] for counter in kind) for each in drawn)
            count = 0
            for amount in amounts:
                available -= amount
                if available < 0:
                    break
                count += 1
            best = min(best, count)
        return best


def _kinds(counters: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Each counter, and groups of similar ones, whose names differ only in digits (`memory-slice-0`, `-1`, ...)."""
    similar: dict[str, list[int]] = {}
    for index, name in enumerate(counters):
        similar.setdefault("".join(char for char in name if not char.isdigit()), []).append(index)
    kinds = {name: (index,) for index, name in enumerate(counters)}
    return kinds | {f"{stem}*": tuple(each) for stem, each in similar.items() if len(each) > 1}


class CounterSets:
    """All counter sets from which candidates draw."""

    def __init__(self, attempt: Attempt, devices: Sequence[Device], relevant: int) -> None:
        """Read the counter sets.

        :param relevant: the candidates that could be taken at all.
        """
        self.sets: list[CounterSet] = []
        #: the indexes of the sets that a candidate draws from
        self.of_device: dict[int, tuple[int, ...]] = {}
        #: whether amounts differ too much in size, or are negative; counters are not reasoned about then
        self.unusable = False
        drawing = [i for i in bits(relevant) if draws(attempt, devices[i])]
        self._read(attempt, devices, drawing)
        if any(amount < 0 for each in self.sets for drawn in each.draws.values() for amount in drawn):
            self.unusable = True
        if self.unusable:
            self.sets.clear()
            self.of_device.clear()

    def _read(self, attempt: Attempt, devices: Sequence[Device], drawing: Iterable[int]) -> None:
        left: dict[PoolId, dict[tuple[str, str], Quantity]] = {}
        places: dict[SetKey, int] = {}
        members: dict[SetKey, list[tuple[int, Mapping[str, Quantity], frozenset[str]]]] = {}
        for index in drawing:
            pool = devices[index].slice.pool
            if pool not in left:
                left[pool] = attempt.counters_left(devices[index])
            for name, counters, groups in devices[index].consumes:
                key = (pool, name)
                places.setdefault(key, len(places))
                members.setdefault(key, []).append((index, counters, groups))
        for key, entries in members.items():
            available = {name: amount for (of, name), amount in left[key[0]].items() if of == key[1]}
            self.sets.append(self._set(key, available, entries))
            for index, _, _ in entries:
                sets = self.of_device.get(index, ())
                if places[key] not in sets:
                    self.of_device[index] = (*sets, places[key])

    def _set(
        self,
        key: SetKey,
        available: Mapping[str, Quantity],
        entries: Sequence[tuple[int, Mapping[str, Quantity], frozenset[str]]],
    ) -> CounterSet:
        counters = sorted(available)
        found = CounterSet(key, counters)
        scales = {}
        for name in counters:
            amounts = [available[name], *(drawn[name] for _, drawn, _ in entries if name in drawn)]
            scales[name] = common_scale(amounts)
        self.unusable |= None in scales.values()
        found.left = tuple(whole_number(available[name], scales[name]) for name in counters)
        for index, drawn, groups in entries:
            whole = (whole_number(drawn[name], scales[name]) if name in drawn else 0 for name in counters)
            found.add(index, tuple(whole), groups)
        return found


def common_scale(amounts: Iterable[Quantity]) -> int | None:
    """The power of ten in which all amounts are whole numbers; None if they differ too much in size."""
    scales = [amount.scale for amount in amounts if amount.mantissa]
    if scales and max(scales) - min(scales) > _MAX_SCALE_SPREAD:
        return None
    return min(scales, default=0)


def whole_number(amount: Quantity, scale: int | None) -> int:
    """The amount in units of 10**scale, rounded down; 0 without a scale."""
    if scale is None or not amount.mantissa:
        return 0
    power = int(10 ** abs(amount.scale - scale))
    return amount.mantissa * power if amount.scale >= scale else amount.mantissa // power
