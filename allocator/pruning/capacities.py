"""Capacities of shared devices as whole numbers, and how many requests they can serve at most.

Like the bounds of counters, these are relaxations: they look at one capacity at a time and ignore how requests interact.
What they call infeasible is infeasible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd
from typing import NamedTuple

from allocator.capacity_requests import Amounts
from allocator.pruning.counters import Remaining, bits, common_scale, whole_number
from allocator.pruning.domains import OptionDomain, RequestDomain, State
from allocator.pruning.problem import Option, SearchProblem
from allocator.rules.capacity import consumption
from resourceapi.quantity import Quantity

_MAX_SUM = 1 << 12
"""Up to this limit, all possible sums are computed."""


class EquivalentRequests(NamedTuple):
    """Requests with the same domain and the same capacity requests: one of them, and their number."""

    domain: RequestDomain
    multiplicity: int


class SharedDevices(NamedTuple):
    """Shared candidates with the same capacities and the same amounts left, and the requests that they could serve.

    Different candidates may serve a request by different options.
    """

    devices: int
    left: Remaining
    requests: tuple[EquivalentRequests, ...]

    @property
    def any(self) -> int:
        """One of the candidates."""
        return self.devices.bit_length() - 1

    def options(self, request: EquivalentRequests) -> list[Option]:
        """The options by which the candidates could serve a request."""
        return [each.option for each in request.domain.options if each.devices & self.devices]


class Capacities:
    """What options request of the capacities of shared candidates, and what is left of them."""

    def __init__(self, problem: SearchProblem) -> None:
        self._problem = problem
        self._devices = problem.shared & problem.relevant
        #: by option a number for its capacity requests
        self._capacity_keys: dict[Option, int] = {}
        #: by candidate a number for its capacities
        self._capacity_shapes: dict[int, int] = {}
        #: capacities by name, each with the power of ten in which it is counted
        self._scales: dict[str, int] = {}
        #: what is left of each candidate before anything is taken
        self.left: dict[int, Remaining] = {}
        #: candidates by their capacities and what is left of them
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
        """What an option takes of a shared candidate."""
        return self._draws[self._capacity_keys[option], self._capacity_shapes[index]]

    def left_of(self, index: int, state: State) -> Remaining:
        """What is left of a shared candidate."""
        left = self.left[index]
        if not state.in_use >> index & 1:
            return left
        # Requests that the problem leaves out may have taken finer amounts, which are rounded down.
        taken = self._whole(self._problem.attempt.shares.get(self._problem.devices[index].id, {}))
        return tuple([available - amount for available, amount in zip(left, taken, strict=True)])

    def size(self, option_domain: OptionDomain) -> float:
        """The least share of a device that an option takes; 0 if a candidate is not a shared device."""
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
        """The shared candidates of requests, grouped."""
        equivalent: dict[object, list[RequestDomain]] = {}
        for domain in domains:
            key = tuple(
                [(self._capacity_keys[each.option], each.wanted, each.devices) for each in domain.options]
            )
            equivalent.setdefault(key, []).append(domain)
        shared_devices: dict[int, tuple[EquivalentRequests, ...]] = {self._devices: ()}
        for same in equivalent.values():
            request, wanted = EquivalentRequests(same[0], len(same)), same[0].devices
            for devices, requests in list(shared_devices.items()):
                if both := devices & wanted:
                    del shared_devices[devices]
                    shared_devices[both] = (*requests, request)
                    if devices != both:
                        shared_devices[devices & ~both] = requests
        return [
            SharedDevices(devices & same, left, requests)
            for left, same in self._equal_candidates(state)
            for devices, requests in shared_devices.items()
            if requests and devices & same
        ]

    def _equal_candidates(self, state: State) -> list[tuple[Remaining, int]]:
        """Groups of candidates with the same capacities and the same amounts left now."""
        found = {remaining: devices & ~state.in_use for remaining, devices in self._remaining_classes.items()}
        for index in bits(state.in_use & self._devices):
            remaining = (self._capacity_shapes[index], self.left_of(index, state))
            found[remaining] = found.get(remaining, 0) | 1 << index
        return [(left, devices) for (_, left), devices in found.items()]

    def most_served(self, shared_devices: Sequence[SharedDevices]) -> dict[int, int]:
        """How many requests each shared candidate can serve, for those that cannot serve all of theirs."""
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
        """The least that each of the requests takes of a candidate, by capacity."""
        return _minima([self.draws(option, shared.any) for option in shared.options(request)])

    def suffice(self, shared_devices: Sequence[SharedDevices]) -> bool:
        """Whether enough of each capacity is left for the least that all requests take."""
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
        """The least that a request takes of a capacity, on any devices."""
        return min(each.wanted * self._least_of(each)[place] for each in domain.options)

    def _least_of(self, option_domain: OptionDomain) -> Remaining:
        key = (self._capacity_keys[option_domain.option], option_domain.devices)
        least = self._least.get(key)
        if least is None:
            least = (0,) * len(self._scales)
            # Devices that are not shared have no capacity to consume.
            if option_domain.devices and not option_domain.devices & ~self._devices:
                least = _minima(
                    [self.draws(option_domain.option, index) for index in bits(option_domain.devices)]
                )
            self._least[key] = least
        return least

    def _usable_part(self, shared: SharedDevices, place: int) -> int:
        """The largest sum of requested amounts that fits into what is left of one candidate."""
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
    """By capacity the power of ten in which it is counted; without capacities whose amounts differ too much in size."""
    by_name: dict[str, list[Quantity]] = {}
    for each in amounts:
        for name, amount in each.items():
            by_name.setdefault(name, []).append(amount)
    scales = {name: common_scale(each) for name, each in by_name.items()}
    return {name: scale for name, scale in scales.items() if scale is not None}


def _minima(amounts: Sequence[Remaining]) -> Remaining:
    return amounts[0] if len(amounts) == 1 else tuple(map(min, zip(*amounts, strict=True)))


def _most(left: Remaining, needs: Sequence[tuple[Remaining, int]]) -> int:
    """How many requests fit into what is left at most; `needs` has amounts by capacity and the number of such requests."""
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
    """The largest sum of amounts within a limit, each used up to its count; the limit itself if it is large."""
    unit = gcd(*counts)
    if not unit or limit // unit > _MAX_SUM:
        return limit if counts else 0
    sums, within = 1, (2 << limit // unit) - 1
    for amount, count in counts.items():
        for _ in range(min(count, limit // amount)):
            sums |= sums << amount // unit & within
    return (sums.bit_length() - 1) * unit
