"""Whether there is any solution at all, sought in the order that suits best: what is scarce first.

The first solution is sought in a fixed order, which may take up what is scarce late and so notice late that it has
gone. An answer from here makes that search go straight on, or turn back at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from allocator.pruning.bits import bits
from allocator.pruning.capacities import Capacities
from allocator.pruning.problem import Option, Problem
from allocator.pruning.propagation import Propagation
from allocator.pruning.prospects import Prospect, Task
from allocator.pruning.state import State, States
from allocator.pruning.symmetry import Symmetry

MAX_DEVICES = 200
"""Larger pods are not looked at: each device is a level of recursion."""
MAX_STEPS = 4_000
"""For one question."""
MAX_STEPS_IN_ALL = 12_000


class _TooManyStepsError(Exception):
    pass


class Existence:
    """Answers for one problem, and remembers what it has found."""

    def __init__(
        self,
        problem: Problem,
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
        #: devices by slot, of the last solution that was found
        self._solution: dict[int, tuple[Option, int]] = {}
        self._sizes: dict[int, float] = {}
        self._steps_left = 0
        self._steps = 0

    def is_possible(self, tasks: Sequence[Task], state: State) -> bool:
        """False only if there is no solution; True may also mean that this could not be found out."""
        if self._problem.has_admin or self._still_works(tasks, state):
            return True
        self._steps_left = min(MAX_STEPS, MAX_STEPS_IN_ALL - self._steps)
        if self._steps_left <= 0 or sum(task.slot.least for task in tasks) > MAX_DEVICES:
            return True
        self._solution = {}
        mark = self._attempt.mark()
        try:
            return self._search(list(tasks), state)
        except _TooManyStepsError:
            self._solution = {}
            return True
        finally:
            self._attempt.undo(mark)

    def _still_works(self, tasks: Sequence[Task], state: State) -> bool:
        """Whether the last solution is one for what is left, too."""
        mark = self._attempt.mark()
        try:
            return bool(self._solution) and all(self._take_again(task, state) for task in tasks)
        finally:
            self._attempt.undo(mark)

    def _take_again(self, task: Task, state: State) -> bool:
        option, devices = self._solution.get(task.slot.place, (None, 0))
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
        if not tasks:
            return True
        key = self._symmetry.situation(tasks, state)
        if key in self._failed:
            return False
        self._steps_left -= 1
        self._steps += 1
        if self._steps_left < 0:
            raise _TooManyStepsError
        prospects = self._propagation.prospects(tasks, state)
        if prospects is not None and self._serve(tasks, prospects, state):
            return True
        self._failed.add(key)
        return False

    def _serve(self, tasks: list[Task], prospects: list[Prospect], state: State) -> bool:
        """Serve the scarcest task by each device that it could have."""
        place = self._scarcest(tasks, prospects)
        task, others = tasks[place], tasks[:place] + tasks[place + 1 :]
        stand_ins = self._symmetry.stand_ins_for(tasks, state)
        for outlook in prospects[place].options:
            if not outlook.wanted:
                return self._search(others, state)
            failed = set()
            for index in self._tightest_first(outlook.devices, state):
                token = stand_ins.token(index, last=outlook.wanted == 1)
                if token in failed:
                    continue
                rest = Task(task.slot, outlook.option, outlook.wanted - 1, task.untried & (-2 << index))
                if self._take(outlook.option, index, [rest, *others], state):
                    return True
                failed.add(token)
        return False

    def _take(self, option: Option, index: int, rest: list[Task], state: State) -> bool:
        mark = self._attempt.mark()
        try:
            if not self._attempt.take(option.alternative, self._problem.devices[index], must=False):
                return False
            if not self._search(rest, self._states.after(state, option, index)):
                return False
        finally:
            self._attempt.undo(mark)
        slot = rest[0].slot.place
        self._solution[slot] = (option, self._solution.get(slot, (option, 0))[1] | 1 << index)
        return True

    def _tightest_first(self, devices: int, state: State) -> list[int]:
        """Where least else could go comes first: what is broken into should be used up."""
        usable = state.free & ~state.blocked()
        cells = self._symmetry.cell_of
        shared = self._problem.shared if self._capacities.left else 0

        def room(index: int) -> tuple[int, Sequence[int]]:
            left = self._capacities.left_of(index, state) if shared >> index & 1 else ()
            return (cells[index].devices & usable).bit_count(), left

        return sorted(bits(devices), key=room)

    def _scarcest(self, tasks: Sequence[Task], prospects: Sequence[Prospect]) -> int:
        """The task that is begun, else that for the largest devices, else that with the least choice.

        Tasks that could have the same devices share the choice.
        """
        wanted: dict[int, int] = {}
        for prospect in prospects:
            wanted[prospect.devices] = wanted.get(prospect.devices, 0) + prospect.least

        def scarcity(place: int) -> tuple[bool, float, int]:
            option, devices = tasks[place].option, prospects[place].devices
            begun = option is not None and tasks[place].wanted < option.wanted
            size = self._size(devices)
            if self._capacities.left:
                size += min(map(self._capacities.size, prospects[place].options))
            return not begun, -size, devices.bit_count() - wanted[devices]

        return min(range(len(tasks)), key=scarcity)

    def _size(self, devices: int) -> float:
        """What the smallest of some devices draws of its counter sets, as parts of the whole."""
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
