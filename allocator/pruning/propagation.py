"""What the remaining requests could still have; or a proof that not all of them can be served.

Every rule only ever leaves out devices that no solution has, and gives up only where there is none: soundness in
docs/explanation/search.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from allocator.pruning.agreement import Agreement
from allocator.pruning.capacities import Capacities
from allocator.pruning.problem import Problem
from allocator.pruning.prospects import HopelessError, Prospect, Prospects, Task, drop_hopeless
from allocator.pruning.state import State, States
from allocator.pruning.sufficiency import Sufficiency
from allocator.search import Goal


class Propagation:
    """Looks ahead from any point of a search."""

    def __init__(self, problem: Problem, states: States, capacities: Capacities) -> None:
        self._problem = problem
        self._states = states
        self._prospects = Prospects(problem)
        self._agreement = Agreement(problem)
        self._sufficiency = Sufficiency(problem, capacities)

    def tasks(self, goal: Goal) -> list[Task]:
        """What is to be done from a goal on, up to where looking at devices may be an error."""
        return self._prospects.tasks(goal)

    def prospects(self, tasks: Sequence[Task], state: State) -> list[Prospect] | None:
        """What each task could have; None if it is all in vain."""
        try:
            prospects = self._prospects.alone(tasks, state)
            self._narrow(prospects, state)
            self._sufficiency.check(prospects, state)
        except HopelessError:
            return None
        return prospects

    def _narrow(self, prospects: list[Prospect], state: State) -> None:
        """Leave out devices until nothing changes any more."""
        bonds = self._agreement.open_bonds(prospects)
        size = -1
        while size != (size := sum(each.devices.bit_count() for p in prospects for each in p.options)):
            for bonded in bonds:
                self._agreement.agree(bonded)
                drop_hopeless(prospects)
            if len(bonds) > 1:
                self._agreement.agree_together(bonds)
                drop_hopeless(prospects)
            self._reserve(prospects, state)

    def _reserve(self, prospects: Sequence[Prospect], state: State) -> None:
        """Where requests need all devices that they could have, others cannot have those, nor what they draw."""
        wanted: dict[int, int] = {}
        for prospect in prospects:
            if _is_plain(prospect):
                devices = prospect.options[0].devices
                wanted[devices] = wanted.get(devices, 0) + prospect.least
        needed = 0
        for devices, count in wanted.items():
            if count == devices.bit_count() and not devices & self._problem.shared:
                if needed & devices:
                    raise HopelessError
                needed |= devices
        if not needed:
            return
        after = self._states.all_drawn(state, needed)
        if after is None:
            raise HopelessError
        blocked = after.blocked() | needed
        for prospect in prospects:
            for each in prospect.options:
                takes_needed = _is_plain(prospect) and not each.devices & ~needed
                if not (takes_needed or each.option.alternative.admin_access):
                    each.devices &= ~blocked
        drop_hopeless(prospects)


def _is_plain(prospect: Prospect) -> bool:
    return len(prospect.options) == 1 and not prospect.has_admin_access
