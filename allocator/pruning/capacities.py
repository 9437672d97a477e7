"""Capacities of shared devices as whole numbers, and how many requests they can bear at most.

Like the bounds of counters these are over single capacities and forget how demands interact: they never say that
something is impossible which is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd
from typing import NamedTuple

from allocator.capacity_requests import Amounts
from allocator.pruning.bits import bits
from allocator.pruning.counters import Left, common_scale, whole_number
from allocator.pruning.problem import Option, Problem
from allocator.pruning.prospects import OpenOption, Prospect
from allocator.pruning.state import State
from allocator.rules.capacity import consumption
from resourceapi.quantity import Quantity

_MAX_SUM = 1 << 12
"""Sums are worked out one by one up to here."""


class Wish(NamedTuple):
    """Prospects that ask for the same: one of them, and how many they are."""

    prospect: Prospect
    prospects: int


class Crowd(NamedTuple):
    """Shared candidates with the same capacities of which the same is left, and who could have them.

    Not every one of them need be had by the same option of a prospect.
    """

    devices: int
    left: Left
    wishes: tuple[Wish, ...]

    @property
    def any(self) -> int:
        """One of the candidates."""
        return self.devices.bit_length() - 1

    def options(self, wish: Wish) -> list[Option]:
        """The options with which a prospect could have one of the candidates."""
        return [each.option for each in wish.prospect.options if each.devices & self.devices]


class Capacities:
    """The shared candidates, as far as options ask for their capacities."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._devices = problem.shared & problem.relevant
        #: by option a number for what it asks of capacities
        self._appetites: dict[Option, int] = {}
        #: by candidate a number for its capacities
        self._rooms: dict[int, int] = {}
        #: capacities by name, each with the power of ten in which it is counted
        self._scales: dict[str, int] = {}
        #: what is left of each candidate before anything is taken
        self.left: dict[int, Left] = {}
        #: candidates with the same capacities of which the same is left
        self._stocks: dict[tuple[int, Left], int] = {}
        self._draws: dict[tuple[int, int], Left] = {}
        self._least: dict[tuple[int, int], Left] = {}
        self._bearable: dict[object, int] = {}
        self._usable: dict[object, int] = {}
        self._sizes: dict[tuple[int, int], float] = {}
        if self._devices:
            self._read()

    def _read(self) -> None:
        attempt, devices = self._problem.attempt, self._problem.devices
        options = [option for slot in self._problem.slots for option in slot.options]
        appetites: dict[object, int] = {}
        self._appetites = {each: appetites.setdefault(each.appetite, len(appetites)) for each in options}
        rooms: dict[object, int] = {}
        left = {index: attempt.capacity_left(devices[index]) for index in bits(self._devices)}
        self._rooms = {
            index: rooms.setdefault(id(devices[index].shape.capacities), len(rooms)) for index in left
        }
        taken: dict[tuple[int, int], Amounts] = {}
        for option in options:
            for index in bits(option.static & self._devices):
                key = self._appetites[option], self._rooms[index]
                if key not in taken:
                    taken[key] = consumption(attempt, option.alternative, devices[index])
        self._scales = _scales([*left.values(), *taken.values()])
        self._draws = {key: self._whole(amounts) for key, amounts in taken.items()}
        self.left = {index: self._whole(amounts) for index, amounts in left.items()}
        for index, of in self.left.items():
            stock = (self._rooms[index], of)
            self._stocks[stock] = self._stocks.get(stock, 0) | 1 << index

    def _whole(self, amounts: Amounts) -> Left:
        return tuple(
            whole_number(amounts[name], scale) if name in amounts else 0
            for name, scale in self._scales.items()
        )

    def draws(self, option: Option, index: int) -> Left:
        """What an option takes of a shared candidate that it could have."""
        return self._draws[self._appetites[option], self._rooms[index]]

    def left_of(self, index: int, state: State) -> Left:
        """What is left of a shared candidate."""
        left = self.left[index]
        if not state.in_use >> index & 1:
            return left
        # Requests that are not looked at in advance may have taken finer amounts: they count for less.
        taken = self._whole(self._problem.attempt.shares.get(self._problem.devices[index].id, {}))
        return tuple([available - amount for available, amount in zip(left, taken, strict=True)])

    def size(self, option_left: OpenOption) -> float:
        """What an option takes of a shared device at least, as a part of what was left; 0 if it may have another one."""
        key = (self._appetites[option_left.option], option_left.devices)
        size = self._sizes.get(key)
        if size is None:
            size = 0.0
            if option_left.devices and not option_left.devices & ~self._devices:
                size = min(self._part(option_left.option, index) for index in bits(option_left.devices))
            self._sizes[key] = size
        return size

    def _part(self, option: Option, index: int) -> float:
        drawn = zip(self.draws(option, index), self.left[index], strict=True)
        return sum(amount / whole if whole else 0.0 for amount, whole in drawn)

    # --- bounds

    def crowds(self, prospects: Sequence[Prospect], state: State) -> list[Crowd]:
        """All shared candidates that prospects could have."""
        alike: dict[object, list[Prospect]] = {}
        for prospect in prospects:
            key = tuple(
                [(self._appetites[each.option], each.wanted, each.devices) for each in prospect.options]
            )
            alike.setdefault(key, []).append(prospect)
        crowds: dict[int, tuple[Wish, ...]] = {self._devices: ()}
        for same in alike.values():
            wish, wanted = Wish(same[0], len(same)), same[0].devices
            for devices, wishes in list(crowds.items()):
                if both := devices & wanted:
                    del crowds[devices]
                    crowds[both] = (*wishes, wish)
                    if devices != both:
                        crowds[devices & ~both] = wishes
        return [
            Crowd(devices & same, left, wishes)
            for left, same in self._alike(state)
            for devices, wishes in crowds.items()
            if wishes and devices & same
        ]

    def _alike(self, state: State) -> list[tuple[Left, int]]:
        """Candidates with the same capacities of which the same is left now."""
        found = {stock: devices & ~state.in_use for stock, devices in self._stocks.items()}
        for index in bits(state.in_use & self._devices):
            stock = (self._rooms[index], self.left_of(index, state))
            found[stock] = found.get(stock, 0) | 1 << index
        return [(left, devices) for (_, left), devices in found.items()]

    def bearable(self, crowds: Sequence[Crowd]) -> dict[int, int]:
        """Of shared candidates that cannot serve all that could have them: how many they can serve."""
        found = {}
        for crowd in crowds:
            needs = tuple(sorted((self._need(wish, crowd), wish.prospects) for wish in crowd.wishes))
            most = self._bearable.get((crowd.left, needs))
            if most is None:
                most = self._bearable[crowd.left, needs] = _most(crowd.left, needs)
            if most < sum(count for _, count in needs):
                found.update(dict.fromkeys(bits(crowd.devices), most))
        return found

    def _need(self, wish: Wish, crowd: Crowd) -> Left:
        """What each of the prospects takes of a candidate at least, capacity by capacity."""
        return _minima([self.draws(option, crowd.any) for option in crowd.options(wish)])

    def suffice(self, crowds: Sequence[Crowd]) -> bool:
        """Whether there is as much of each capacity as the prospects take at least."""
        wishes = {id(wish.prospect): wish for crowd in crowds for wish in crowd.wishes}
        for place in range(len(self._scales)):
            needed = sum(self._needed(wish.prospect, place) * wish.prospects for wish in wishes.values())
            if needed and needed > sum(
                self._usable_part(crowd, place) * crowd.devices.bit_count() for crowd in crowds
            ):
                return False
        return True

    def _needed(self, prospect: Prospect, place: int) -> int:
        """What a prospect takes of a capacity at least, of whichever devices."""
        return min(each.wanted * self._least_of(each)[place] for each in prospect.options)

    def _least_of(self, option_left: OpenOption) -> Left:
        key = (self._appetites[option_left.option], option_left.devices)
        least = self._least.get(key)
        if least is None:
            least = (0,) * len(self._scales)
            if (
                option_left.devices and not option_left.devices & ~self._devices
            ):  # Other devices are not consumed.
                least = _minima(
                    [self.draws(option_left.option, index) for index in bits(option_left.devices)]
                )
            self._least[key] = least
        return least

    def _usable_part(self, crowd: Crowd, place: int) -> int:
        """The most of what is left that requests can use up together: what none of them fills is lost."""
        counts: dict[int, int] = {}
        left = crowd.left[place]
        for wish in crowd.wishes:
            for amount in {self.draws(option, crowd.any)[place] for option in crowd.options(wish)}:
                if 0 < amount <= left:
                    counts[amount] = counts.get(amount, 0) + wish.prospects
        key = (left, tuple(sorted(counts.items())))
        usable = self._usable.get(key)
        if usable is None:
            usable = self._usable[key] = _largest_sum(left, counts)
        return usable


def _scales(amounts: Iterable[Amounts]) -> dict[str, int]:
    """The powers of ten in which capacities are counted; those that are too different in size are left out."""
    by_name: dict[str, list[Quantity]] = {}
    for each in amounts:
        for name, amount in each.items():
            by_name.setdefault(name, []).append(amount)
    scales = {name: common_scale(each) for name, each in by_name.items()}
    return {name: scale for name, scale in scales.items() if scale is not None}


def _minima(amounts: Sequence[Left]) -> Left:
    return amounts[0] if len(amounts) == 1 else tuple(map(min, zip(*amounts, strict=True)))


def _most(left: Left, needs: Sequence[tuple[Left, int]]) -> int:
    """How many requests can be served with what is left, if each needs so much of each capacity."""
    best = sum(count for _, count in needs)
    for place, available in enumerate(left):
        served = 0
        for amount, count in sorted((need[place], count) for need, count in needs):
            if amount > available:
                break
            count = min(count, available // amount) if amount else count
            served += count
            available -= count * amount
        best = min(best, served)
    return best


def _largest_sum(limit: int, counts: dict[int, int]) -> int:
    """The largest sum within a limit of amounts that may be used so often each; the limit itself if that is large."""
    unit = gcd(*counts)
    if not unit or limit // unit > _MAX_SUM:
        return limit if counts else 0
    sums, within = 1, (2 << limit // unit) - 1
    for amount, count in counts.items():
        for _ in range(min(count, limit // amount)):
            sums |= sums << amount // unit & within
    return (sums.bit_length() - 1) * unit
