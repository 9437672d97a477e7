"""What the pruned search has taken so far; immutable, so that backtracking costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from allocator.compatibility_groups import Common, joined
from allocator.pruning.bits import bits
from allocator.pruning.counters import CounterSets, Remaining
from allocator.pruning.problem import Option, Problem


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

    def __init__(self, problem: Problem) -> None:
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
