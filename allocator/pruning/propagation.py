"""What the remaining requests could still have; or a proof that not all of them can be served.

Every rule only ever leaves out devices that no solution has, and gives up only where there is none: soundness in
docs/explanation/search.md.
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
    """Looks ahead from any point of a search."""

    def __init__(self, problem: Problem, states: States, capacities: Capacities) -> None:
        self._problem = problem
        self._states = states
        self._domains = Domains(problem)
        self._match_attribute = MatchAttributeFilter(problem)
        self._relaxations = Relaxations(problem, capacities)

    def tasks(self, goal: Goal) -> list[Task]:
        """What is to be done from a goal on, up to where looking at devices may be an error."""
        return self._domains.tasks(goal)

    def domains(self, tasks: Sequence[Task], state: State) -> list[RequestDomain] | None:
        """What each task could have; None if it is all in vain."""
        try:
            domains = self._domains.alone(tasks, state)
            self._narrow(domains, state)
            self._relaxations.check(domains, state)
        except InfeasibleError:
            return None
        return domains

    def _narrow(self, domains: list[RequestDomain], state: State) -> None:
        """Leave out devices until nothing changes any more."""
        constraints = self._match_attribute.open_constraints(domains)
        size = -1
        while size != (size := sum(each.devices.bit_count() for p in domains for each in p.options)):
            for members in constraints:
                self._match_attribute.filter_values(members)
                drop_infeasible(domains)
            if len(constraints) > 1:
                self._match_attribute.filter_pairs(constraints)
                drop_infeasible(domains)
            self._reserve(domains, state)

    def _reserve(self, domains: Sequence[RequestDomain], state: State) -> None:
        """Where requests need all devices that they could have, others cannot have those, nor what they draw."""
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
