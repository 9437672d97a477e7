"""The search with constraint propagation: the choices of the plain search in its order, without infeasible ones."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from allocator.demand import Alternative
from allocator.devices import Device
from allocator.errors import SearchLimitError
from allocator.pruning.bits import bits
from allocator.pruning.capacities import Capacities
from allocator.pruning.domains import Task
from allocator.pruning.existence import Existence
from allocator.pruning.problem import Problem
from allocator.pruning.propagation import Propagation
from allocator.pruning.state import States
from allocator.pruning.symmetry import Interchangeability, Symmetry
from allocator.search import Choice, Goal, Outcome, Search

MAX_STEPS = 10_000
STEPS_BEFORE_LOOKING_AHEAD = 100
"""After so many steps, the search asks whether there is any solution; most need fewer."""


class _RestartError(Exception):
    pass


class PrunedSearch(Search):
    """Finds the solution that `Search` finds in far fewer steps."""

    def __init__(self, problem: Problem, max_steps: int = MAX_STEPS) -> None:
        super().__init__(problem.attempt, problem.claims, problem.devices, problem.everything)
        self._problem = problem
        self._steps_left = max_steps
        states = States(problem)
        self._states = states
        self._state = states.first()
        capacities = Capacities(problem)
        self._propagation = Propagation(problem, states, capacities)
        self._symmetry = Symmetry(problem)
        self._look_ahead_below = max_steps - STEPS_BEFORE_LOOKING_AHEAD
        self._looks_ahead = False
        self._existence = Existence(problem, states, self._propagation, self._symmetry, capacities)
        self._outcomes: dict[object, Outcome] = {}
        self._options = {o.alternative: o for slot in problem.slots for o in slot.options}

    def run(self) -> bool:
        """Search for the first solution.

        :returns: whether there is one; the attempt has it then.
        :raises AllocationError: if the search ends with an error.
        :raises SearchLimitError: if it takes too many steps.
        :raises OutOfTime: if its time is over.
        """
        start, state = self._attempt.mark(), self._state
        try:
            return super().run()
        except _RestartError:
            # Start again, but ask before each step whether a solution is left; cached outcomes remain valid.
            self._attempt.undo(start)
            self._state, self._looks_ahead = state, True
            return super().run()

    def _choose(self, goal: Goal) -> Choice:
        requests = self._claims[goal.claim].requests
        if goal.request == len(requests) or goal.alternative is not None:
            return super()._choose(goal)
        return self._request(goal)

    def _slot(self, goal: Goal) -> int:
        return self._problem.first[goal.claim] + goal.request

    def _request(self, goal: Goal) -> Choice:
        """Serve a request, unless the remaining requests are known to be infeasible from here."""
        slot = self._slot(goal)
        certain = self._problem.is_certain(slot)
        key = (self._symmetry.equivalence_key if certain else self._symmetry.exact_key)(slot, self._state)
        cached = self._outcomes.get(key)
        if cached is not None:
            return cached
        if self._is_infeasible(goal):
            return Outcome.FAILED
        outcome = self._outcomes[key] = yield from super()._choose(goal)
        return outcome

    def _is_infeasible(self, goal: Goal) -> bool:
        """Whether an alternative list cannot be served; a single alternative is checked with its first device."""
        slot = self._problem.slots[self._slot(goal)]
        return len(slot.options) > 1 and not slot.risky and self._possible_devices(goal) is None

    def _possible_devices(self, goal: Goal) -> int | None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise SearchLimitError
        self._attempt.time_limit.check()
        tasks = self._propagation.tasks(goal)
        domains = self._propagation.domains(tasks, self._state)
        if domains is None or not self._may_have_solution(goal, tasks):
            return None
        return domains[0].devices

    def _may_have_solution(self, goal: Goal, tasks: Sequence[Task]) -> bool:
        """Whether a solution may be left; asked only once the search has turned out to be hard."""
        if not self._looks_ahead:
            if self._steps_left < self._look_ahead_below:
                raise _RestartError
            return True
        return not self._problem.is_certain(self._slot(goal)) or self._existence.may_have_solution(
            tasks, self._state
        )

    def _this_device(self, goal: Goal, alternative: Alternative, device: Device) -> Choice:
        if self._problem.slots[self._slot(goal)].risky:
            return (yield from super()._this_device(goal, alternative, device))
        if goal.devices == 0 and self._possible_devices(goal) is None:
            return Outcome.FAILED
        return (yield from super()._this_device(goal, alternative, device))

    def _any_device(self, goal: Goal, alternative: Alternative) -> Choice:
        slot = self._slot(goal)
        if self._problem.slots[slot].risky:
            return (yield from super()._any_device(goal, alternative))
        devices = self._possible_devices(goal)
        if devices is None:
            return Outcome.FAILED
        last = goal.devices + 1 == alternative.count
        interchangeable = self._interchangeable(slot)
        failed = set()
        for index in bits(devices):
            token = interchangeable.token(index, last=last) if interchangeable is not None else index
            if token in failed:
                continue
            mark, device = self._attempt.mark(), self._candidates[index]
            if self._attempt.take(alternative, device, must=False):
                outcome = yield from self._go_on(goal, alternative, device, mark, index + 1)
                if outcome is Outcome.TOO_MANY:
                    return outcome
            failed.add(token)
        return Outcome.FAILED

    def _interchangeable(self, slot: int) -> Interchangeability | None:
        # If looking at a device may raise an error, it matters which devices are looked at.
        if self._problem.has_admin or not self._problem.is_certain(slot):
            return None
        return self._symmetry.interchangeable(slot, self._state)

    def _go_on(
        self, goal: Goal, alternative: Alternative, device: Device, mark: int, start: int
    ) -> Generator[Goal, Outcome, Outcome]:
        before = self._state
        self._state = self._states.after(before, self._options[alternative], self._problem.place[device])
        outcome = yield from super()._go_on(goal, alternative, device, mark, start)
        self._state = before
        return outcome
