"""What the pruned search has taken so far, in the terms in which it reasons: never changed, so that it can go back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from allocator.compatibility_groups import Common, joined
from allocator.pruning.bits import bits
from allocator.pruning.counters import CounterSets, Remaining
from allocator.pruning.problem import Option, Problem


class State(NamedTuple):
    """Which candidates are left, and what of the counters."""

    #: candidates that no request holds; shared ones always
    free: int
    #: candidates held, by claim; only kept if some request has admin access
    held: Mapping[int, int]
    #: by counter set
    left: tuple[Remaining, ...]
    common: tuple[Common | None, ...]
    #: by counter set: members that it cannot bear, or whose groups do not fit
    refused: tuple[int, ...]
    #: shared candidates in use by this attempt
    in_use: int

    def blocked(self) -> int:
        """Candidates that some counter set does not admit; those that have paid already draw no more."""
        found = 0
        for refused in self.refused:
            found |= refused
        return found & ~self.in_use


class States:
    """The state at the beginning, and those that follow from taking a device."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._sets: CounterSets = problem.counters
        self._grouped = problem.features.compatibility_groups

    def first(self) -> State:
        """Before anything is taken."""
        problem, sets = self._problem, self._sets.sets
        everything = (1 << len(problem.devices)) - 1
        common = tuple(problem.attempt.common_groups(*each.key) if self._grouped else None for each in sets)
        refused = tuple(
            each.too_large(each.left) | each.refused(mates) for each, mates in zip(sets, common, strict=True)
        )
        return State(everything, {}, tuple(each.left for each in sets), common, refused, 0)

    def after(self, state: State, option: Option, index: int) -> State:
        """With a device taken for an option."""
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
            left[place] = less(left[place], each.draws[index])
            if self._grouped:
                common[place] = joined(common[place], each.groups[index])
            refused[place] = each.too_large(left[place]) | each.refused(common[place])
        return state._replace(left=tuple(left), common=tuple(common), refused=tuple(refused))

    def all_drawn(self, state: State, devices: int) -> State | None:
        """With all of these taken; None if the counters cannot bear it."""
        for index in bits(devices & ~self._problem.shared):
            state = self._drawn(state, index)
        if any(amount < 0 for left in state.left for amount in left):
            return None
        return state


def less(left: Remaining, drawn: Remaining) -> Remaining:
    """What is left after that."""
    return tuple(available - amount for available, amount in zip(left, drawn, strict=True))
