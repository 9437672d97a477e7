"""Counter sets and their worth: how many of their devices could still be taken.

Devices that take the same amounts are of one profile (all 1g partitions of a GPU, wherever they start). The worth of a
counter set is the sum over profiles of how many devices of that profile could still be taken, plus one if the set is
unused. So a small partition goes where it blocks the fewest others, and unused sets are kept for requests that need
a whole one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from allocator.compatibility_groups import Common, admits, joined
from allocator.devices import Device
from allocator.ledgers import Ledger
from allocator.pools import Pool
from resourceapi.quantity import MAX_DIGITS, Quantity

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
        self.shape = _interned(Shape(amounts, tuple(variants)))

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


@lru_cache(maxsize=4096)
def _interned(shape: Shape) -> Shape:
    return shape


@lru_cache(maxsize=200_000)
def worth(shape: Shape, state: CounterSetState) -> int:
    """The worth of a counter set in a state; see the module."""
    unused = state.groups is None and state.left == shape.totals
    return sum(count for _, count in placeable(shape, state)) + unused


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
