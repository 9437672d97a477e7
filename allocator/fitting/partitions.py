"""Counter sets and what of their devices could still be taken: the worth of a counter set.

Devices that take the same amounts are of one profile (all 1g partitions of a GPU, wherever they start). The worth of a
counter set is, summed over profiles, how many devices of the profile could still be taken, and one more if nobody uses
the set. So a small partition goes where it costs the fewest others a place, and whole sets are kept for those who need
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from allocator.compatibility_groups import Common, admits, joined
from allocator.devices import Device
from allocator.ledgers import Ledger
from allocator.pools import Pool
from resourceapi.quantity import Quantity

#: Steps after which counting devices of a profile is content with what it has found.
_MAX_STEPS = 2_000
#: Beyond so many variants of one profile, they are counted one after the other.
_MAX_VARIANTS = 64

#: Larger numbers are as good as this one; infinite ones could not be reckoned with.
_HUGE = 1e150

Amounts = tuple[tuple[int, float], ...]
"""What a device takes: places of counters in their set, and amounts."""


def as_number(amount: Quantity) -> float:
    """An amount as a number to weigh with."""
    return max(min(amount.approximate_float(), _HUGE), -_HUGE)


class Variant(NamedTuple):
    """Devices of a set that cannot be told apart by what they take from it; `size`: the amounts, whatever they are of."""

    takes: Amounts
    groups: frozenset[str]
    size: tuple[float, ...]


class Shape(NamedTuple):
    """A counter set, but for names: the totals of its counters and the variants of its devices."""

    totals: tuple[float, ...]
    variants: tuple[Variant, ...]


class Filling(NamedTuple):
    """The state of a counter set: what is left of the counters, how many devices of each variant, and the groups."""

    left: tuple[float, ...]
    free: tuple[int, ...]
    groups: Common | None


class CounterSet:
    """A counter set of a pool with the devices that take from it; `variant`: of each, which it is."""

    __slots__ = ("counters", "name", "shape", "variant")

    def __init__(self, name: str, pool: Pool) -> None:
        self.name = name
        totals = pool.counter_sets[name]
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

    def filling(self, ledger: Ledger, held: Iterable[Device]) -> Filling:
        """The state; `held`: the devices of the pool that are allocated."""
        left = tuple(as_number(ledger.available[self.name, counter]) for counter in self.counters)
        free = [0] * len(self.shape.variants)
        for variant in self.variant.values():
            free[variant] += 1
        for device in held:
            if device in self.variant:
                free[self.variant[device]] -= 1
        return Filling(left, tuple(free), ledger.groups.get(self.name))

    def after(self, filling: Filling, device: Device) -> Filling:
        """The state with one device more."""
        place = self.variant[device]
        variant = self.shape.variants[place]
        left = list(filling.left)
        for counter, amount in variant.takes:
            left[counter] -= amount
        free = list(filling.free)
        free[place] -= 1
        return Filling(tuple(left), tuple(free), joined(filling.groups, variant.groups))


@lru_cache(maxsize=4096)
def _interned(shape: Shape) -> Shape:
    return shape


@lru_cache(maxsize=200_000)
def worth(shape: Shape, filling: Filling) -> int:
    """What a counter set in this state is still good for."""
    unused = filling.groups is None and filling.left == shape.totals
    return sum(count for _, count in placeable(shape, filling)) + unused


def placeable(shape: Shape, filling: Filling) -> list[tuple[tuple[float, ...], int]]:
    """How many devices of each profile (named by its amounts) could still be taken together."""
    profiles: dict[tuple[float, ...], list[tuple[Amounts, int]]] = {}
    for variant, free in zip(shape.variants, filling.free, strict=True):
        found = profiles.setdefault(variant.size, [])
        if free > 0 and admits(filling.groups, variant.groups):
            found.append((variant.takes, free))
    return [(size, _most(filling.left, variants)) for size, variants in profiles.items()]


def _most(left: Sequence[float], variants: Sequence[tuple[Amounts, int]]) -> int:
    """The greatest number of devices, each variant so often at most; of many variants just a large number."""
    steps = 0

    def search(place: int, left: Sequence[float]) -> int:
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

    return search(0, left) if len(variants) <= _MAX_VARIANTS else _one_after_the_other(left, variants)


def _one_after_the_other(left: Sequence[float], variants: Sequence[tuple[Amounts, int]]) -> int:
    found = 0
    for takes, free in variants:
        count = _fitting(left, takes, free)
        left = _without(left, takes, count)
        found += count
    return found


def _fitting(left: Sequence[float], takes: Amounts, free: int) -> int:
    """How many devices that take so much fit, `free` at most."""
    most = min((left[counter] // amount for counter, amount in takes if amount > 0), default=free)
    return max(int(min(most, free)), 0)


def _without(left: Sequence[float], takes: Amounts, count: int) -> Sequence[float]:
    if not count:
        return left
    rest = list(left)
    for counter, amount in takes:
        rest[counter] -= amount * count
    return rest
