"""The search with constraint propagation: the choices of the plain search in its order, without infeasible ones."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence

from allocator.demand import Alternative
from allocator.devices import Device
from allocator.errors import SearchLimitError
from allocator.pruning.capacities import Capacities
from allocator.pruning.counters import bits
from allocator.pruning.domains import OptionDomain, RequestDomain, State, States, Task
from allocator.pruning.problem import Option, SearchProblem
from allocator.pruning.propagation import Propagation
from allocator.pruning.symmetry import Interchangeability, Symmetry
from allocator.search import Choice, Goal, Outcome, Search

# Whether there is any solution, searched for with the scarcest request first.
# The search for the first solution has a fixed order, and may reach scarce devices late. The answer from
# here makes it continue, or backtrack at once.

MAX_DEVICES = 200
"""Pods that need more devices are not searched: each device is a level of recursion."""
MAX_EXISTENCE_STEPS = 4_000
"""Steps for one question."""
MAX_EXISTENCE_STEPS_IN_ALL = 12_000


class _TooManyStepsError(Exception):
    pass


class Existence:
    """Answers for one problem; caches failed states and the last solution."""

    def __init__(
        self,
        problem: SearchProblem,
        states: States,
        propagation: Propagation,
        symmetry: Symmetry,
        capacities: Capacities,
    ) -> None:
        self._problem = problem
        self._attempt = problem.attempt
        self._states = states
        self._propagation = propagation
        self._symmetry = symmetry
        self._capacities = capacities
        self._failed: set[Hashable] = set()
        #: devices by slot, of the solution that is being found and of the last one
        self._solution: dict[int, tuple[Option, int]] = {}
        self._last: dict[int, tuple[Option, int]] = {}
        self._sizes: dict[int, float] = {}
        self._steps_left = 0
        self._steps = 0

    def may_have_solution(self, tasks: Sequence[Task], state: State) -> bool:
        """False only if there is no solution; True if there is one or the step limit was reached."""
        if self._problem.has_admin:
            return True
        self._steps_left = min(MAX_EXISTENCE_STEPS, MAX_EXISTENCE_STEPS_IN_ALL - self._steps)
        if self._steps_left <= 0 or sum(task.slot.least for task in tasks) > MAX_DEVICES:
            return True
        self._solution = {}
        mark = self._attempt.mark()
        try:
            found = self._search(list(tasks), state)
        except _TooManyStepsError:
            return True
        finally:
            self._attempt.undo(mark)
        if found:
            self._last = self._solution
        return found

    def _still_works(self, tasks: Sequence[Task], state: State) -> bool:
        """Whether the last solution also serves these tasks; if so, it is reused."""
        mark = self._attempt.mark()
        try:
            if not all(self._take_again(task, state) for task in tasks):
                return False
        finally:
            self._attempt.undo(mark)
        for task in tasks:
            option, devices = self._last[task.slot.place]
            self._solution[task.slot.place] = (option, devices & task.untried)
        return True

    def _take_again(self, task: Task, state: State) -> bool:
        option, devices = self._last.get(task.slot.place, (None, 0))
        if option is None or (task.option is not None and task.option is not option):
            return False
        wanted = option.wanted if task.option is None else task.wanted
        left = [
            index
            for index in bits(devices & task.untried)
            if (self._problem.shared | state.free) >> index & 1
        ]
        return len(left) == wanted and all(
            self._attempt.take(option.alternative, self._problem.devices[index], must=False) for index in left
        )

    def _search(self, tasks: list[Task], state: State) -> bool:
        tasks = [task for task in tasks if task.option is None or task.wanted]
        if self._still_works(tasks, state):
            return True
        key = self._symmetry.equivalence_key_of_tasks(tasks, state)
        if key in self._failed:
            return False
        self._steps_left -= 1
        self._steps += 1
        if self._steps_left < 0:
            raise _TooManyStepsError
        self._attempt.time_limit.check()
        domains = self._propagation.domains(tasks, state)
        if domains is not None and self._serve_all(tasks, domains, state):
            return True
        self._failed.add(key)
        return False

    def _serve_all(self, tasks: list[Task], domains: list[RequestDomain], state: State) -> bool:
        """Serve independent groups of tasks separately."""
        parts = self._parts(tasks, domains)
        if len(parts) == 1:
            return self._serve(tasks, domains, state)
        if all(self._search(part, state) for part in parts):
            return True
        for task in tasks:
            self._solution.pop(task.slot.place, None)
        return False

    def _parts(self, tasks: list[Task], domains: list[RequestDomain]) -> list[list[Task]]:
        """Independent groups of tasks: they share no claim, candidate or counter set."""
        if len({task.slot.claim for task in tasks}) == 1:
            return [tasks]
        first_claim = len(self._problem.devices)
        parts: list[tuple[int, list[Task]]] = []
        for task, domain in zip(tasks, domains, strict=True):
            reach, members = domain.devices | 1 << first_claim + task.slot.claim, [task]
            for each in self._problem.counters.sets:
                if each.members & domain.devices:
                    reach |= each.members
            others = []
            for part in parts:
                if part[0] & reach:
                    reach |= part[0]
                    members = part[1] + members
                else:
                    others.append(part)
            parts = [*others, (reach, members)]
        return sorted((members for _, members in parts), key=len)

    def _serve(self, tasks: list[Task], domains: list[RequestDomain], state: State) -> bool:
        """Serve the scarcest task with each of its candidates in turn."""
        place = self._scarcest(tasks, domains)
        task, others = tasks[place], tasks[:place] + tasks[place + 1 :]
        interchangeable = self._symmetry.interchangeable_for_tasks(tasks, state)
        for option_domain in domains[place].options:
            if not option_domain.wanted:
                return self._search(others, state)
            failed = set()
            for index in self._best_first(task, option_domain, state):
                token = interchangeable.token(index, last=option_domain.wanted == 1)
                if token in failed:
                    continue
                remaining = Task(
                    task.slot, option_domain.option, option_domain.wanted - 1, task.untried & (-2 << index)
                )
                if self._take(option_domain.option, index, [remaining, *others], state):
                    return True
                failed.add(token)
        return False

    def _take(self, option: Option, index: int, tasks: list[Task], state: State) -> bool:
        mark = self._attempt.mark()
        try:
            if not self._attempt.take(option.alternative, self._problem.devices[index], must=False):
                return False
            if not self._search(tasks, self._states.after(state, option, index)):
                return False
        finally:
            self._attempt.undo(mark)
        slot = tasks[0].slot.place
        self._solution[slot] = (option, self._solution.get(slot, (option, 0))[1] | 1 << index)
        return True

    def _best_first(self, task: Task, option_domain: OptionDomain, state: State) -> list[int]:
        """Candidates of the last solution first, then those of components with the fewest usable devices.

        If the option needs more devices after the next one, interchangeable devices stay in order.
        """
        usable = state.free & ~state.blocked()
        components = self._symmetry.component_of
        shared = self._problem.shared if self._capacities.left else 0
        had = (
            self._last[task.slot.place][1]
            if option_domain.wanted == 1 and task.slot.place in self._last
            else 0
        )

        def room(index: int) -> tuple[bool, int, Sequence[int]]:
            left = self._capacities.left_of(index, state) if shared >> index & 1 else ()
            return not had >> index & 1, (components[index].devices & usable).bit_count(), left

        return sorted(bits(option_domain.devices), key=room)

    def _scarcest(self, tasks: Sequence[Task], domains: Sequence[RequestDomain]) -> int:
        """The task that has been begun, else the one for the largest devices, else the one with the fewest candidates.

        Tasks with the same domain share its candidates.
        """
        wanted: dict[int, int] = {}
        for domain in domains:
            wanted[domain.devices] = wanted.get(domain.devices, 0) + domain.least

        def scarcity(place: int) -> tuple[bool, float, int]:
            option, devices = tasks[place].option, domains[place].devices
            has_begun = option is not None and tasks[place].wanted < option.wanted
            size = self._size(devices)
            if self._capacities.left:
                size += min(map(self._capacities.size, domains[place].options))
            return not has_begun, -size, devices.bit_count() - wanted[devices]

        return min(range(len(tasks)), key=scarcity)

    def _size(self, devices: int) -> float:
        """What the smallest of some devices draws of its counter sets, as a share of what was left."""
        size = self._sizes.get(devices)
        if size is None:
            sets = self._problem.counters.sets
            size = min(
                sum(
                    drawn / whole if whole else 0.0
                    for place in self._problem.counters.of_device.get(index, ())
                    for drawn, whole in zip(sets[place].draws[index], sets[place].left, strict=True)
                )
                for index in bits(devices)
            )
            self._sizes[devices] = size
        return size


MAX_STEPS = 10_000
STEPS_BEFORE_LOOKING_AHEAD = 100
"""After so many steps, the search asks whether there is any solution; most need fewer."""


class _RestartError(Exception):
    pass


class PrunedSearch(Search):
    """Finds the solution that `Search` finds in far fewer steps."""

    def __init__(self, problem: SearchProblem, max_steps: int = MAX_STEPS) -> None:
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
