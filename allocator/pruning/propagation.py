"""Constraint propagation: the domains of the remaining requests, or a proof that not all of them can be served.

A rule removes only devices that are part of no solution. Why each rule is sound: docs/explanation/search.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allocator.pruning.capacities import Capacities, SharedDevices
from allocator.pruning.counters import bits, union
from allocator.pruning.domains import (
    Domains,
    InfeasibleError,
    OptionDomain,
    RequestDomain,
    State,
    States,
    Task,
    drop_infeasible,
)
from allocator.pruning.problem import Demand, Matching, SearchProblem, Value, ValueMap, can_serve_all
from allocator.search import Goal

# Whether there is enough for all remaining requests together.
# Each check is a relaxation that ignores some of the rules, so what is infeasible here is infeasible.


def exclusive_demand(problem: SearchProblem, wanted: int, devices: int) -> tuple[int, int]:
    """The number of exclusive devices that a request needs at least, and which ones: shared ones may serve it instead."""
    shared = devices & problem.shared
    return max(wanted - shared.bit_count(), 0), devices & ~shared


class Relaxations:
    """Checks of devices, counters, capacities and distinct values."""

    def __init__(self, problem: SearchProblem, capacities: Capacities) -> None:
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


def _drawing_kinds(problem: SearchProblem) -> list[tuple[_Amounts, list[tuple[int, tuple[int, ...]]], int]]:
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


# Propagation of `matchAttribute`: values without support are removed from the domains of the requests it
# binds.

_MAX_VALUES_MATCHED = 128


class BoundRequest(NamedTuple):
    """A request that a constraint binds: the domains of its options that are bound, each with the attribute's values."""

    domain: RequestDomain
    option_domains: list[tuple[OptionDomain, ValueMap]]


class MatchAttributeFilter:
    """Removes devices whose values not all requests bound by a constraint can have."""

    def __init__(self, problem: SearchProblem) -> None:
        self._problem = problem

    def open_constraints(self, domains: list[RequestDomain]) -> list[list[BoundRequest]]:
        """The requests that each `matchAttribute` binds, for those constraints that have no value yet."""
        attempt = self._problem.attempt
        found: dict[tuple[int, int], list[BoundRequest]] = {}
        for domain in domains:
            bound: dict[tuple[int, int], list[tuple[OptionDomain, ValueMap]]] = {}
            for each in domain.options:
                for place, distinct, values in each.option.constraints:
                    if not distinct:
                        bound.setdefault((domain.slot.claim, place), []).append((each, values))
            for key, option_domains in bound.items():
                if not attempt.constraint_state(self._problem.claims[key[0]].header, key[1]):
                    found.setdefault(key, []).append(BoundRequest(domain, option_domains))
        return list(found.values())

    def filter_values(self, members: Sequence[BoundRequest]) -> None:
        """Remove devices whose values some of the requests that one constraint binds cannot have."""
        bound = _certainly_bound(members)
        if not bound:
            return
        values = self._common_values(bound)
        if len(values) <= _MAX_VALUES_MATCHED and len(bound) > 1:
            values = [value for value in values if self._has_support(value, bound)]
        _keep(members, values)

    def filter_pairs(self, constraints: Sequence[Sequence[BoundRequest]]) -> None:
        """Remove values of one constraint that leave no value for another constraint on some of the same requests."""
        for members in constraints:
            for others in constraints:
                if others is not members:
                    self._filter_pair(members, _certainly_bound(members), _certainly_bound(others))

    def _filter_pair(
        self, members: Sequence[BoundRequest], bound: Sequence[BoundRequest], others: Sequence[BoundRequest]
    ) -> None:
        shared = {id(each.domain) for each in bound} & {id(each.domain) for each in others}
        if not shared:
            return
        values, their_values = self._common_values(bound), self._common_values(others)
        if len(values) * len(their_values) <= _MAX_VALUES_MATCHED:
            _keep(
                members,
                [value for value in values if self._has_joint_support(value, bound, their_values, others)],
            )

    def _has_joint_support(
        self,
        value: Value,
        bound: Sequence[BoundRequest],
        their_values: Sequence[Value],
        others: Sequence[BoundRequest],
    ) -> bool:
        """Whether the other constraint still has a value if this one has the given value."""
        having = {
            id(each): each.devices & of.masks.get(value, 0)
            for _, option_domains in bound
            for each, of in option_domains
        }
        return any(
            can_serve_all(
                [
                    exclusive_demand(
                        self._problem,
                        domain.least,
                        union(
                            having.get(id(each), each.devices) & of.masks.get(other, 0)
                            for each, of in option_domains
                        ),
                    )
                    for domain, option_domains in others
                ]
            )
            for other in their_values
        )

    def _common_values(self, bound: Sequence[BoundRequest]) -> list[Value]:
        first = {
            value
            for each, of in bound[0].option_domains
            for index in bits(each.devices)
            for value in of.of_device.get(index, ())
        }
        return [
            value
            for value in sorted(first)
            if all(
                any(
                    (each.devices & of.masks.get(value, 0)).bit_count() >= each.wanted
                    for each, of in option_domains
                )
                for _, option_domains in bound
            )
        ]

    def _has_support(self, value: Value, bound: Sequence[BoundRequest]) -> bool:
        """Whether all requests together find enough devices with a value."""
        # They are of one claim, so not even admin access lets two of them have the same device.
        return can_serve_all(
            [
                exclusive_demand(
                    self._problem,
                    domain.least,
                    union(each.devices & of.masks.get(value, 0) for each, of in option_domains),
                )
                for domain, option_domains in bound
            ]
        )


def _certainly_bound(members: Sequence[BoundRequest]) -> list[BoundRequest]:
    """The requests that certainly have to share a value, those with the fewest candidates first.

    None if only one device is still to be taken: it always agrees with itself, and its value may be missing.
    """
    bound = [
        each
        for each in map(_left, members)
        if each.option_domains and len(each.option_domains) == len(each.domain.options) and each.domain.least
    ]
    if sum(domain.least for domain, _ in bound) <= 1:
        return []
    return sorted(bound, key=lambda each: each.domain.devices.bit_count())


def _left(bound: BoundRequest) -> BoundRequest:
    """Without the options that have been removed meanwhile."""
    domain, option_domains = bound
    return BoundRequest(domain, [(each, of) for each, of in option_domains if each in domain.options])


def _keep(members: Sequence[BoundRequest], values: Sequence[Value]) -> None:
    """Remove devices without any of these values from all options that the constraint binds.

    :raises InfeasibleError: if there are no values.
    """
    if not values:
        raise InfeasibleError
    for _, option_domains in map(_left, members):
        for each, of in option_domains:
            devices = [of.masks.get(value, 0) for value in values]
            if each.wanted:
                devices = [mask for mask in devices if (mask & each.devices).bit_count() >= each.wanted]
                each.devices &= union(devices)


class Propagation:
    """Finds the domains of the remaining requests at any point of a search."""

    def __init__(self, problem: SearchProblem, states: States, capacities: Capacities) -> None:
        self._problem = problem
        self._states = states
        self._domains = Domains(problem)
        self._match_attribute = MatchAttributeFilter(problem)
        self._relaxations = Relaxations(problem, capacities)

    def tasks(self, goal: Goal) -> list[Task]:
        """The tasks from a goal on, up to the first request for which looking at devices may raise an error."""
        return self._domains.tasks(goal)

    def domains(self, tasks: Sequence[Task], state: State) -> list[RequestDomain] | None:
        """The domain of each task; None if not all of them can be served."""
        try:
            domains = self._domains.alone(tasks, state)
            self._narrow(domains, state)
            self._relaxations.check(domains, state)
        except InfeasibleError:
            return None
        return domains

    def _narrow(self, domains: list[RequestDomain], state: State) -> None:
        """Remove devices until a fixed point is reached."""
        constraints = self._match_attribute.open_constraints(domains)
        size = -1
        while size != (size := sum(each.devices.bit_count() for p in domains for each in p.options)):
            for members in constraints:
                self._problem.attempt.time_limit.check()
                self._match_attribute.filter_values(members)
                drop_infeasible(domains)
            if len(constraints) > 1:
                self._match_attribute.filter_pairs(constraints)
                drop_infeasible(domains)
            self._reserve(domains, state)

    def _reserve(self, domains: Sequence[RequestDomain], state: State) -> None:
        """Remove devices that others need: where requests need all their candidates, those and what they draw are taken."""
        wanted: dict[int, int] = {}
        for domain in domains:
            if _is_plain(domain):
                devices = domain.options[0].devices
                wanted[devices] = wanted.get(devices, 0) + domain.least
        needed = 0
        for devices, count in wanted.items():
            if count == devices.bit_count() and not devices & self._problem.shared:
                if needed & devices:
                    raise InfeasibleError
                needed |= devices
        if not needed:
            return
        after = self._states.all_drawn(state, needed)
        if after is None:
            raise InfeasibleError
        blocked = after.blocked() | needed
        for domain in domains:
            for each in domain.options:
                takes_needed = _is_plain(domain) and not each.devices & ~needed
                if not (takes_needed or each.option.alternative.admin_access):
                    each.devices &= ~blocked
        drop_infeasible(domains)


def _is_plain(domain: RequestDomain) -> bool:
    return len(domain.options) == 1 and not domain.has_admin_access
