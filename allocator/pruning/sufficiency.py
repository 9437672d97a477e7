"""Whether there is enough for all remaining requests together.

Each check forgets something of how requests interact, so what is impossible here is impossible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocator.pruning.bits import bits, union
from allocator.pruning.capacities import Capacities, Crowd
from allocator.pruning.matching import Demand, Matching, can_serve_all
from allocator.pruning.problem import Problem
from allocator.pruning.prospects import HopelessError, Prospect
from allocator.pruning.state import State
from allocator.pruning.values import ValueMap


def own(problem: Problem, wanted: int, devices: int) -> tuple[int, int]:
    """The devices that a request must have for itself: each shared one may serve it, too."""
    shared = devices & problem.shared
    return max(wanted - shared.bit_count(), 0), devices & ~shared


class Sufficiency:
    """Checks devices, counters, capacities and distinct values."""

    def __init__(self, problem: Problem, capacities: Capacities) -> None:
        self._problem = problem
        self._capacities = capacities
        self._drawing_kinds = _drawing_kinds(problem)

    def check(self, prospects: Sequence[Prospect], state: State) -> None:
        """Raises HopelessError if there is not enough."""
        normal = [prospect for prospect in prospects if not prospect.has_admin_access]
        crowds = self._capacities.crowds(normal, state) if self._capacities.left else ()
        if not Matching(self._demands(normal, crowds), self._limits(normal, state)).complete():
            raise HopelessError
        self._check_counters(normal, state)
        if crowds and not self._capacities.suffice(crowds):
            raise HopelessError
        if self._problem.has_admin:
            self._check_admin(prospects)
        self._check_distinct(prospects)

    def _demands(self, prospects: Sequence[Prospect], crowds: Sequence[Crowd]) -> list[Demand]:
        """What each request must have for itself: devices, and places on shared devices that cannot serve all."""
        bearable = self._capacities.bearable(crowds) if crowds else {}
        places, first = {}, len(self._problem.devices)
        for index, most in bearable.items():
            places[index] = (1 << most) - 1 << first
            first += most
        crowded = sum(1 << index for index in bearable)
        demands = []
        for prospect in prospects:
            devices = prospect.devices
            wanted, owned = own(self._problem, prospect.least, devices & ~crowded)
            demands.append((wanted, owned | union(places[index] for index in bits(devices & crowded))))
        return demands

    def _check_admin(self, prospects: Sequence[Prospect]) -> None:
        """Requests of one claim never have a device in common, with admin access or without."""
        for claim in {prospect.slot.claim for prospect in prospects}:
            theirs = [prospect for prospect in prospects if prospect.slot.claim == claim]
            if not can_serve_all(
                [own(self._problem, prospect.least, prospect.devices) for prospect in theirs]
            ):
                raise HopelessError

    def _limits(self, prospects: Sequence[Prospect], state: State) -> dict[int, int]:
        """How many devices of each counter set can be taken; devices of several sets are counted in the first."""
        sets = self._problem.counters.sets
        if not sets:
            return {}
        wanted = union(prospect.devices for prospect in prospects) & ~self._problem.shared
        limits: dict[int, int] = {}
        for each, left in zip(sets, state.left, strict=True):
            devices = each.members & wanted
            if devices:
                limits[devices] = each.at_most(devices, left)
                wanted &= ~devices
        return {devices: limit for devices, limit in limits.items() if limit < devices.bit_count()}

    def _check_counters(self, prospects: Sequence[Prospect], state: State) -> None:
        """What all requests draw at least, counter by counter over all sets together."""
        for amounts, members, shares in self._drawing_kinds:
            available = 0
            for place, counters in members:
                left = state.left[place]
                for counter in counters:
                    available += left[counter]
            for prospect in prospects:
                available -= min(
                    each.wanted * _least(each.devices, amounts, shares) for each in prospect.options
                )
                if available < 0:
                    raise HopelessError

    def _check_distinct(self, prospects: Sequence[Prospect]) -> None:
        """Devices with distinct values need as many values."""
        bound: dict[tuple[int, int, ValueMap], list[tuple[int, int]]] = {}
        for prospect in prospects:
            for place, values in self._distinct(prospect):
                key = (prospect.slot.claim, place, values)
                bound.setdefault(key, []).append((prospect.least, prospect.devices))
        for (_, _, values), demands in bound.items():
            one_each = {devices: 1 for devices in values.partition if devices & (devices - 1)}
            if not Matching(demands, one_each).complete() or not values.suffice(demands):
                raise HopelessError

    def _distinct(self, prospect: Prospect) -> Iterable[tuple[int, ValueMap]]:
        """The `distinctAttribute` constraints that hold for all options of a request, and look at the same attribute."""
        first, *others = prospect.options
        for place, distinct, values in first.option.bonds:
            if distinct and all((place, True, values) in each.option.bonds for each in others):
                yield place, values


_Amounts = list[tuple[int, int]]


def _least(devices: int, amounts: _Amounts, shared: int) -> int:
    """The least that one of the devices draws; shared ones may draw nothing."""
    if devices & shared:
        return 0
    for amount, having in amounts:
        if devices & having:
            return amount
    return 0


def _drawing_kinds(problem: Problem) -> list[tuple[_Amounts, list[tuple[int, tuple[int, ...]]], int]]:
    """Per kind of counter: amounts, ascending, with the candidates that draw as much; and the sets that have it."""
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
