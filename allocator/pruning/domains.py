"""The domains of the remaining requests: the devices that each could get if it were alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from allocator.allocated import Common, joined
from allocator.pruning.counters import CounterSets, Remaining, bits, union
from allocator.pruning.problem import Option, SearchProblem, Slot
from allocator.rules.capacity import Capacity
from allocator.search import Goal
from resourceapi.limits import ALLOCATION_RESULTS

# What the pruned search has taken so far; immutable, so that backtracking costs nothing.


class State(NamedTuple):
    """The candidates and amounts of counters that are left."""

    #: candidates that no request holds; shared ones always
    free: int
    #: candidates held, by claim; only kept if some request has admin access
    held: Mapping[int, int]
    #: by counter set
    left: tuple[Remaining, ...]
    common: tuple[Common | None, ...]
    #: by counter set: members for which too little is left, or whose groups are incompatible
    refused: tuple[int, ...]
    #: shared candidates in use by this attempt
    in_use: int

    def blocked(self) -> int:
        """Candidates that a counter set does not admit; shared ones in use have drawn their amounts already."""
        found = 0
        for refused in self.refused:
            found |= refused
        return found & ~self.in_use


class States:
    """The initial state, and the states that follow when devices are taken."""

    def __init__(self, problem: SearchProblem) -> None:
        self._problem = problem
        self._sets: CounterSets = problem.counters
        self._grouped = problem.features.compatibility_groups

    def first(self) -> State:
        """The state before any device is taken."""
        problem, sets = self._problem, self._sets.sets
        everything = (1 << len(problem.devices)) - 1
        common = tuple(problem.attempt.common_groups(*each.key) if self._grouped else None for each in sets)
        refused = tuple(
            each.too_large(each.left) | each.refused(mates) for each, mates in zip(sets, common, strict=True)
        )
        return State(everything, {}, tuple(each.left for each in sets), common, refused, 0)

    def after(self, state: State, option: Option, index: int) -> State:
        """The state after a device is taken for an option."""
        bit = 1 << index
        shared = self._problem.shared & bit
        if not (shared and state.in_use & bit):
            state = self._drawn(state, index)
        if shared:
            return state._replace(in_use=state.in_use | bit)
        held = state.held
        if self._problem.has_admin:
            held = {**held, option.claim: held.get(option.claim, 0) | bit}
        return state._replace(free=state.free & ~bit, held=held)

    def _drawn(self, state: State, index: int) -> State:
        places = self._sets.of_device.get(index)
        if places is None:
            return state
        left, common, refused = list(state.left), list(state.common), list(state.refused)
        for place in places:
            each = self._sets.sets[place]
            left[place] = _less(left[place], each.draws[index])
            if self._grouped:
                common[place] = joined(common[place], each.groups[index])
            refused[place] = each.too_large(left[place]) | each.refused(common[place])
        return state._replace(left=tuple(left), common=tuple(common), refused=tuple(refused))

    def all_drawn(self, state: State, devices: int) -> State | None:
        """The state after all of these are taken; None if the counters do not suffice."""
        for index in bits(devices & ~self._problem.shared):
            state = self._drawn(state, index)
        if any(amount < 0 for left in state.left for amount in left):
            return None
        return state


def _less(left: Remaining, drawn: Remaining) -> Remaining:
    return tuple(available - amount for available, amount in zip(left, drawn, strict=True))


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

    def __init__(self, problem: SearchProblem) -> None:
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
