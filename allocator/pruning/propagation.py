"""Constraint propagation: the domains of the remaining requests, or a proof that not all of them can be served.

A rule removes only devices that are part of no solution. Why each rule is sound: docs/explanation/search.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from allocator.pruning.capacities import Capacities
from allocator.pruning.domains import Domains, InfeasibleError, RequestDomain, Task, drop_infeasible
from allocator.pruning.match_attribute import MatchAttributeFilter
from allocator.pruning.problem import Problem
from allocator.pruning.relaxations import Relaxations
from allocator.pruning.state import State, States
from allocator.search import Goal


class Propagation:
    """Finds the domains of the remaining requests at any point of a search."""

    def __init__(self, problem: Problem, states: States, capacities: Capacities) -> None:
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
