"""Whether there is enough for all remaining requests together.

Each check is a relaxation that ignores some of the rules, so what is infeasible here is infeasible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocator.pruning.bits import bits, union
from allocator.pruning.capacities import Capacities, SharedDevices
from allocator.pruning.domains import InfeasibleError, RequestDomain
from allocator.pruning.matching import Demand, Matching, can_serve_all
from allocator.pruning.problem import Problem
from allocator.pruning.state import State
from allocator.pruning.values import ValueMap


def exclusive_demand(problem: Problem, wanted: int, devices: int) -> tuple[int, int]:
    """The number of exclusive devices that a request needs at least, and which ones: shared ones may serve it instead."""
    shared = devices & problem.shared
    return max(wanted - shared.bit_count(), 0), devices & ~shared


class Relaxations:
    """Checks of devices, counters, capacities and distinct values."""

    def __init__(self, problem: Problem, capacities: Capacities) -> None:
        self._problem = problem
        self._capacities = capacities
        self._drawing_kinds = _drawing_kinds(problem)

    def check(self, domains: Sequence[RequestDomain], state: State) -> None:
        """Check that there is enough.

        :raises InfeasibleError: if not all requests can be served.
        """
        normal = [domain for domain in domains if not domain.has_admin_access]
        shared_devices = self._capacities.shared_devices(normal, state) if self._capacities.left else ()
        if not Matching(self._demands(normal, shared_devices), self._limits(normal, state)).complete():
            raise InfeasibleError
        self._check_counters(normal, state)
        if shared_devices and not self._capacities.suffice(shared_devices):
            raise InfeasibleError
        if self._problem.has_admin:
            self._check_admin(domains)
        self._check_distinct(domains)

    def _demands(
        self, domains: Sequence[RequestDomain], shared_devices: Sequence[SharedDevices]
    ) -> list[Demand]:
        """What each request needs exclusively: devices, and places on shared devices that cannot serve all requests."""
        most_served = self._capacities.most_served(shared_devices) if shared_devices else {}
        places, first = {}, len(self._problem.devices)
        for index, most in most_served.items():
            places[index] = (1 << most) - 1 << first
            first += most
        exhausted = sum(1 << index for index in most_served)
        demands = []
        for domain in domains:
            devices = domain.devices
            wanted, owned = exclusive_demand(self._problem, domain.least, devices & ~exhausted)
            demands.append((wanted, owned | union(places[index] for index in bits(devices & exhausted))))
        return demands

    def _check_admin(self, domains: Sequence[RequestDomain]) -> None:
        """Check that the requests of each claim find different devices, which they need even with admin access."""
        for claim in {domain.slot.claim for domain in domains}:
            theirs = [domain for domain in domains if domain.slot.claim == claim]
            if not can_serve_all(
                [exclusive_demand(self._problem, domain.least, domain.devices) for domain in theirs]
            ):
                raise InfeasibleError

    def _limits(self, domains: Sequence[RequestDomain], state: State) -> dict[int, int]:
        """How many devices of each counter set can be taken; devices of several sets count in the first."""
        sets = self._problem.counters.sets
        if not sets:
            return {}
        wanted = union(domain.devices for domain in domains) & ~self._problem.shared
        limits: dict[int, int] = {}
        for each, left in zip(sets, state.left, strict=True):
            devices = each.members & wanted
            if devices:
                limits[devices] = each.at_most(devices, left)
                wanted &= ~devices
        return {devices: limit for devices, limit in limits.items() if limit < devices.bit_count()}

    def _check_counters(self, domains: Sequence[RequestDomain], state: State) -> None:
        """Check that counters, all sets together, suffice for the least that requests draw."""
        for amounts, members, shares in self._drawing_kinds:
            available = 0
            for place, counters in members:
                left = state.left[place]
                for counter in counters:
                    available += left[counter]
            for domain in domains:
                available -= min(
                    each.wanted * _least(each.devices, amounts, shares) for each in domain.options
                )
                if available < 0:
                    raise InfeasibleError

    def _check_distinct(self, domains: Sequence[RequestDomain]) -> None:
        """Check that there are as many distinct values as devices that need them."""
        bound: dict[tuple[int, int, ValueMap], list[tuple[int, int]]] = {}
        for domain in domains:
            for place, values in self._distinct(domain):
                key = (domain.slot.claim, place, values)
                bound.setdefault(key, []).append((domain.least, domain.devices))
        for (_, _, values), demands in bound.items():
            one_each = {devices: 1 for devices in values.partition if devices & (devices - 1)}
            if not Matching(demands, one_each).complete() or not values.suffice(demands):
                raise InfeasibleError

    def _distinct(self, domain: RequestDomain) -> Iterable[tuple[int, ValueMap]]:
        """The `distinctAttribute` constraints on the same attribute that bind all options of a request."""
        first, *others = domain.options
        for place, distinct, values in first.option.constraints:
            if distinct and all((place, True, values) in each.option.constraints for each in others):
                yield place, values


_Amounts = list[tuple[int, int]]


def _least(devices: int, amounts: _Amounts, shared: int) -> int:
    """The least that any of the devices draws; shared ones may draw nothing."""
    if devices & shared:
        return 0
    for amount, having in amounts:
        if devices & having:
            return amount
    return 0


def _drawing_kinds(problem: Problem) -> list[tuple[_Amounts, list[tuple[int, tuple[int, ...]]], int]]:
    """By kind of counter: amounts, ascending, each with the candidates that draw it; and the sets that have the counter."""
    drawn: dict[str, dict[int, int]] = {}
    members: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
    for place, each in enumerate(problem.counters.sets):
        for kind, counters in each.kinds.items():
            members.setdefault(kind, []).append((place, counters))
            amounts = drawn.setdefault(kind, {})
            for index, draws in each.draws.items():
                amounts[index] = amounts.get(index, 0) + sum(draws[counter] for counter in counters)
    found = []
    for kind, amounts in drawn.items():
        by_amount: dict[int, int] = {0: 0}
        everyone = (1 << len(problem.devices)) - 1
        for index, amount in amounts.items():
            everyone &= ~(1 << index)
            by_amount[amount] = by_amount.get(amount, 0) | 1 << index
        by_amount[0] |= everyone
        found.append((sorted(by_amount.items()), members[kind], problem.shared))
    return found
