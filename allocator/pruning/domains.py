"""The domains of the remaining requests: the devices that each could get if it were alone."""

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
    """A request to be served, or what is missing of one that has been begun."""

    slot: Slot
    #: the option that has been chosen, if one has
    option: Option | None = None
    #: how many devices the option still wants
    wanted: int = 0
    #: candidates that may be taken for it; each combination is tried once only
    untried: int = ALL


class OptionDomain:
    """An option that may still serve its request, the number of devices that it needs, and its candidates."""

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
    """The options that remain for a request, each with its candidates."""

    __slots__ = ("options", "slot")

    def __init__(self, slot: Slot, options: list[OptionDomain]) -> None:
        self.slot = slot
        self.options = options

    @property
    def least(self) -> int:
        """The lowest number of devices that it needs."""
        return min(each.wanted for each in self.options)

    @property
    def devices(self) -> int:
        """The candidates of all options."""
        return union(each.devices for each in self.options)

    @property
    def has_admin_access(self) -> bool:
        """Whether it may get devices that others hold; such a request has one option."""
        return self.options[0].option.alternative.admin_access

    def drop_infeasible(self) -> bool:
        """Remove options with too few candidates.

        :returns: whether an option remains.
        """
        self.options = [each for each in self.options if not each.is_infeasible()]
        return bool(self.options)


class InfeasibleError(Exception):
    """Not all requests can be served."""


def drop_infeasible(domains: Iterable[RequestDomain]) -> None:
    """Remove options with too few candidates.

    :raises InfeasibleError: if no option remains for a request.
    """
    feasible = [domain.drop_infeasible() for domain in domains]
    if not all(feasible):
        raise InfeasibleError


class Domains:
    """Finds the domains of tasks."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def tasks(self, goal: Goal) -> list[Task]:
        """The tasks from a goal on, up to the first request for which looking at devices may raise an error."""
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
        return sum(1 << index for index in self._problem.all_of(option)[goal.devices :])

    def alone(self, tasks: Sequence[Task], state: State) -> list[RequestDomain]:
        """The domain of each task by itself.

        :raises InfeasibleError: if one of them has too few candidates.
        """
        allowed = ~state.blocked()
        exhausted: dict[object, int] = {}
        domains = []
        for slot, chosen, wanted, untried in tasks:
            options = []
            for option in slot.options if chosen is None else (chosen,):
                devices = self._available(option, option.initial & allowed & untried, state)
                if devices & state.in_use:
                    devices &= ~self._exhausted(option, state, exhausted)
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

    def _exhausted(self, option: Option, state: State, cache: dict[object, int]) -> int:
        """Its candidates among shared devices in use that have too little capacity left; `cache` is by capacity request."""
        problem = self._problem
        key = (option.initial, option.capacity_key)
        found = cache.get(key)
        if found is None:
            found = cache[key] = sum(
                1 << index
                for index in bits(option.initial & state.in_use)
                if not Capacity.admits(problem.attempt, option.alternative, problem.devices[index])
            )
        return found

    def _check_limit(self, domains: Iterable[RequestDomain]) -> None:
        """Check that no claim would get more devices than its status can hold."""
        problem = self._problem
        room: dict[int, int] = {}
        for domain in domains:
            claim = domain.slot.claim
            if claim not in room:
                room[claim] = ALLOCATION_RESULTS - len(problem.attempt.taken(problem.claims[claim].header))
            room[claim] -= domain.least
            if room[claim] < 0:
                raise InfeasibleError
