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
from allocator.pruning.counters import Remaining, common_scale, whole_number
from allocator.pruning.domains import OptionDomain, RequestDomain
from allocator.pruning.problem import Option, Problem
from allocator.pruning.state import State
from allocator.rules.capacity import consumption
from resourceapi.quantity import Quantity

_MAX_SUM = 1 << 12
"""Sums are worked out one by one up to here."""


class EquivalentRequests(NamedTuple):
    """Domains that ask for the same: one of them, and how many they are."""

    domain: RequestDomain
    multiplicity: int


class SharedDevices(NamedTuple):
    """Shared candidates with the same capacities of which the same is left, and who could have them.

    Not every one of them need be had by the same option of a domain.
    """

    devices: int
    left: Remaining
    requests: tuple[EquivalentRequests, ...]

    @property
    def any(self) -> int:
        """One of the candidates."""
        return self.devices.bit_length() - 1

    def options(self, request: EquivalentRequests) -> list[Option]:
        """The options with which a domain could have one of the candidates."""
        return [each.option for each in request.domain.options if each.devices & self.devices]


class Capacities:
    """The shared candidates, as far as options ask for their capacities."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._devices = problem.shared & problem.relevant
        #: by option a number for what it asks of capacities
        self._capacity_keys: dict[Option, int] = {}
        #: by candidate a number for its capacities
        self._capacity_shapes: dict[int, int] = {}
        #: capacities by name, each with the power of ten in which it is counted
        self._scales: dict[str, int] = {}
        #: what is left of each candidate before anything is taken
        self.left: dict[int, Remaining] = {}
        #: candidates with the same capacities of which the same is left
        self._remaining_classes: dict[tuple[int, Remaining], int] = {}
        self._draws: dict[tuple[int, int], Remaining] = {}
        self._least: dict[tuple[int, int], Remaining] = {}
        self._most_served_cache: dict[object, int] = {}
        self._usable_cache: dict[object, int] = {}
        self._sizes: dict[tuple[int, int], float] = {}
        if self._devices:
            self._read()

    def _read(self) -> None:
        attempt, devices = self._problem.attempt, self._problem.devices
        options = [option for slot in self._problem.slots for option in slot.options]
        capacity_keys: dict[object, int] = {}
        self._capacity_keys = {
            each: capacity_keys.setdefault(each.capacity_key, len(capacity_keys)) for each in options
        }
        capacity_shapes: dict[object, int] = {}
        left = {index: attempt.capacity_left(devices[index]) for index in bits(self._devices)}
        self._capacity_shapes = {
            index: capacity_shapes.setdefault(id(devices[index].shape.capacities), len(capacity_shapes))
            for index in left
        }
        taken: dict[tuple[int, int], Amounts] = {}
        for option in options:
            for index in bits(option.initial & self._devices):
                key = self._capacity_keys[option], self._capacity_shapes[index]
                if key not in taken:
                    taken[key] = consumption(attempt, option.alternative, devices[index])
        self._scales = _scales([*left.values(), *taken.values()])
        self._draws = {key: self._whole(amounts) for key, amounts in taken.items()}
        self.left = {index: self._whole(amounts) for index, amounts in left.items()}
        for index, of in self.left.items():
            remaining = (self._capacity_shapes[index], of)
            self._remaining_classes[remaining] = self._remaining_classes.get(remaining, 0) | 1 << index

    def _whole(self, amounts: Amounts) -> Remaining:
        return tuple(
            whole_number(amounts[name], scale) if name in amounts else 0
            for name, scale in self._scales.items()
        )

    def draws(self, option: Option, index: int) -> Remaining:
        """What an option takes of a shared candidate that it could have."""
        return self._draws[self._capacity_keys[option], self._capacity_shapes[index]]

    def left_of(self, index: int, state: State) -> Remaining:
        """What is left of a shared candidate."""
        left = self.left[index]
        if not state.in_use >> index & 1:
            return left
        # Requests that are not looked at in advance may have taken finer amounts: they count for less.
        taken = self._whole(self._problem.attempt.shares.get(self._problem.devices[index].id, {}))
        return tuple([available - amount for available, amount in zip(left, taken, strict=True)])

    def size(self, option_domain: OptionDomain) -> float:
        """What an option takes of a shared device at least, as a part of what was left; 0 if it may have another one."""
        key = (self._capacity_keys[option_domain.option], option_domain.devices)
        size = self._sizes.get(key)
        if size is None:
            size = 0.0
            if option_domain.devices and not option_domain.devices & ~self._devices:
                size = min(self._part(option_domain.option, index) for index in bits(option_domain.devices))
            self._sizes[key] = size
        return size

    def _part(self, option: Option, index: int) -> float:
        drawn = zip(self.draws(option, index), self.left[index], strict=True)
        return sum(amount / whole if whole else 0.0 for amount, whole in drawn)

    # --- bounds

    def shared_devices(self, domains: Sequence[RequestDomain], state: State) -> list[SharedDevices]:
        """All shared candidates that domains could have."""
        alike: dict[object, list[RequestDomain]] = {}
        for domain in domains:
            key = tuple(
                [(self._capacity_keys[each.option], each.wanted, each.devices) for each in domain.options]
            )
            alike.setdefault(key, []).append(domain)
        shared_devices: dict[int, tuple[EquivalentRequests, ...]] = {self._devices: ()}
        for same in alike.values():
            request, wanted = EquivalentRequests(same[0], len(same)), same[0].devices
            for devices, requests in list(shared_devices.items()):
                if both := devices & wanted:
                    del shared_devices[devices]
                    shared_devices[both] = (*requests, request)
                    if devices != both:
                        shared_devices[devices & ~both] = requests
        return [
            SharedDevices(devices & same, left, requests)
            for left, same in self._alike(state)
            for devices, requests in shared_devices.items()
            if requests and devices & same
        ]

    def _alike(self, state: State) -> list[tuple[Remaining, int]]:
        """Candidates with the same capacities of which the same is left now."""
        found = {remaining: devices & ~state.in_use for remaining, devices in self._remaining_classes.items()}
        for index in bits(state.in_use & self._devices):
            remaining = (self._capacity_shapes[index], self.left_of(index, state))
            found[remaining] = found.get(remaining, 0) | 1 << index
        return [(left, devices) for (_, left), devices in found.items()]

    def most_served(self, shared_devices: Sequence[SharedDevices]) -> dict[int, int]:
        """Of shared candidates that cannot serve all that could have them: how many they can serve."""
        found = {}
        for shared in shared_devices:
            needs = tuple(
                sorted((self._need(request, shared), request.multiplicity) for request in shared.requests)
            )
            most = self._most_served_cache.get((shared.left, needs))
            if most is None:
                most = self._most_served_cache[shared.left, needs] = _most(shared.left, needs)
            if most < sum(count for _, count in needs):
                found.update(dict.fromkeys(bits(shared.devices), most))
        return found

    def _need(self, request: EquivalentRequests, shared: SharedDevices) -> Remaining:
        """What each of the domains takes of a candidate at least, capacity by capacity."""
        return _minima([self.draws(option, shared.any) for option in shared.options(request)])

    def suffice(self, shared_devices: Sequence[SharedDevices]) -> bool:
        """Whether there is as much of each capacity as the domains take at least."""
        requests = {id(request.domain): request for shared in shared_devices for request in shared.requests}
        for place in range(len(self._scales)):
            needed = sum(
                self._needed(request.domain, place) * request.multiplicity for request in requests.values()
            )
            if needed and needed > sum(
                self._usable_part(shared, place) * shared.devices.bit_count() for shared in shared_devices
            ):
                return False
        return True

    def _needed(self, domain: RequestDomain, place: int) -> int:
        """What a domain takes of a capacity at least, of whichever devices."""
        return min(each.wanted * self._least_of(each)[place] for each in domain.options)

    def _least_of(self, option_domain: OptionDomain) -> Remaining:
        key = (self._capacity_keys[option_domain.option], option_domain.devices)
        least = self._least.get(key)
        if least is None:
            least = (0,) * len(self._scales)
            if (
                option_domain.devices and not option_domain.devices & ~self._devices
            ):  # Other devices are not consumed.
                least = _minima(
                    [self.draws(option_domain.option, index) for index in bits(option_domain.devices)]
                )
            self._least[key] = least
        return least

    def _usable_part(self, shared: SharedDevices, place: int) -> int:
        """The most of what is left that requests can use up together: what none of them fills is lost."""
        counts: dict[int, int] = {}
        left = shared.left[place]
        for request in shared.requests:
            for amount in {self.draws(option, shared.any)[place] for option in shared.options(request)}:
                if 0 < amount <= left:
                    counts[amount] = counts.get(amount, 0) + request.multiplicity
        key = (left, tuple(sorted(counts.items())))
        usable = self._usable_cache.get(key)
        if usable is None:
            usable = self._usable_cache[key] = _largest_sum(left, counts)
        return usable


def _scales(amounts: Iterable[Amounts]) -> dict[str, int]:
    """The powers of ten in which capacities are counted; those that are too different in size are left out."""
    by_name: dict[str, list[Quantity]] = {}
    for each in amounts:
        for name, amount in each.items():
            by_name.setdefault(name, []).append(amount)
    scales = {name: common_scale(each) for name, each in by_name.items()}
    return {name: scale for name, scale in scales.items() if scale is not None}


def _minima(amounts: Sequence[Remaining]) -> Remaining:
    return amounts[0] if len(amounts) == 1 else tuple(map(min, zip(*amounts, strict=True)))


def _most(left: Remaining, needs: Sequence[tuple[Remaining, int]]) -> int:
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
