"""What each remaining request could have if it were alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allocator.pruning.bits import bits, union
from allocator.pruning.problem import Option, Problem, Slot
from allocator.pruning.state import State
from allocator.rules.capacity import Capacity
from allocator.search import Goal
from resourceapi.limits import ALLOCATION_RESULTS

ALL = -1
"""All candidates, as a set."""


class Task(NamedTuple):
    """A request that is to be served, or the rest of it."""

    slot: Slot
    #: the option that has been chosen, if one has
    option: Option | None = None
    #: how many devices the option still wants
    wanted: int = 0
    #: candidates that may be taken for it; each combination is tried once only
    untried: int = ALL


class OptionDomain:
    """An option that may still serve its request: how many devices it wants, and which ones it could have."""

    __slots__ = ("devices", "option", "wanted")

    def __init__(self, option: Option, wanted: int, devices: int) -> None:
        self.option = option
        self.wanted = wanted
        self.devices = devices

    def is_infeasible(self) -> bool:
        """Whether too few candidates are left."""
        if self.option.everything is not None:
            return self.devices.bit_count() != self.wanted or not self.option.everything
        return self.devices.bit_count() < self.wanted


class RequestDomain:
    """A request that is yet to be served, with the options that are left."""

    __slots__ = ("options", "slot")

    def __init__(self, slot: Slot, options: list[OptionDomain]) -> None:
        self.slot = slot
        self.options = options

    @property
    def least(self) -> int:
        """How many devices it takes at least."""
        return min(each.wanted for each in self.options)

    @property
    def devices(self) -> int:
        """All devices that it could have."""
        return union(each.devices for each in self.options)

    @property
    def has_admin_access(self) -> bool:
        """Whether it does not mind that others hold a device; such a request has one option."""
        return self.options[0].option.alternative.admin_access

    def drop_infeasible(self) -> bool:
        """Whether there still is an option."""
        self.options = [each for each in self.options if not each.is_infeasible()]
        return bool(self.options)


class InfeasibleError(Exception):
    """Not all requests can be served."""


def drop_infeasible(domains: Iterable[RequestDomain]) -> None:
    """Raises InfeasibleError if a request has no option left."""
    feasible = [domain.drop_infeasible() for domain in domains]
    if not all(feasible):
        raise InfeasibleError


class Domains:
    """Makes the domains of what is to be done."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def tasks(self, goal: Goal) -> list[Task]:
        """What is to be done from a goal on, up to where looking at devices may be an error."""
        problem = self._problem
        start = problem.first[goal.claim] + goal.request
        tasks = [Task(slot) for slot in problem.slots[start : problem.horizons[start]]]
        if goal.alternative is not None:
            slot = problem.slots[start]
            option = next(each for each in slot.options if each.alternative is goal.alternative)
            tasks[0] = Task(slot, option, option.wanted - goal.devices, self._untried(goal, option))
        return tasks

    def _untried(self, goal: Goal, option: Option) -> int:
        if goal.devices == 0:
            return ALL
        if option.everything is None:
            return ALL << goal.start
        rest = self._problem.all_of(option)[goal.devices :]
        return sum(1 << index for index in rest)

    def alone(self, tasks: Sequence[Task], state: State) -> list[RequestDomain]:
        """What each task could have. Raises InfeasibleError."""
        allowed = ~state.blocked()
        crowded: dict[object, int] = {}
        domains = []
        for slot, chosen, wanted, untried in tasks:
            options = []
            for option in slot.options if chosen is None else (chosen,):
                devices = self._available(option, option.initial & allowed & untried, state)
                if devices & state.in_use:
                    devices &= ~self._crowded(option, state, crowded)
                options.append(OptionDomain(option, option.wanted if chosen is None else wanted, devices))
            domains.append(RequestDomain(slot, options))
        drop_infeasible(domains)
        self._check_limit(domains)
        return domains

    def _available(self, option: Option, devices: int, state: State) -> int:
        problem, alternative = self._problem, option.alternative
        if alternative.admin_access:
            devices &= ~state.held.get(option.claim, 0)
        else:
            devices &= state.free
        for place, distinct, values in option.constraints:
            remembered = problem.attempt.constraint_state(alternative.claim, place)
            if remembered and distinct:
                devices &= ~values.unlike(remembered)
            elif remembered:
                devices &= values.having(remembered)
        return devices

    def _crowded(self, option: Option, state: State, known: dict[object, int]) -> int:
        """Its candidates among shared devices in use that have too little left; `known` by what options ask for."""
        problem = self._problem
        key = (option.initial, option.capacity_key)
        found = known.get(key)
        if found is None:
            found = known[key] = sum(
                1 << index
                for index in bits(option.initial & state.in_use)
                if not Capacity.admits(problem.attempt, option.alternative, problem.devices[index])
            )
        return found

    def _check_limit(self, domains: Iterable[RequestDomain]) -> None:
        """A claim's status holds only so many devices."""
        problem = self._problem
        room: dict[int, int] = {}
        for domain in domains:
            claim = domain.slot.claim
            if claim not in room:
                room[claim] = ALLOCATION_RESULTS - len(problem.attempt.taken(problem.claims[claim]))
            room[claim] -= domain.least
            if room[claim] < 0:
                raise InfeasibleError
