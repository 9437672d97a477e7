"""The order in which devices are tried: depth first, until the first solution.

Claims, requests and alternatives come in the given order. Within a request devices are taken in the order of pools,
slices and devices only (each combination once); the next request starts from the first device again. Alternatives
are part of the same search (KEP-4816): if a later choice fails, the next device is tried, then the next alternative.

Every choice is a generator: it chooses, yields the goal that comes next, and is sent the outcome of that. So depth costs no
recursion, and `PrunedSearch` can check each outcome in one place.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from allocator.attempt import Attempt
from allocator.demand import Alternative, ClaimDemand
from allocator.devices import Device
from resourceapi.limits import ALLOCATION_RESULTS


class Outcome(Enum):
    """How a part of the search ended, if not with a solution."""

    FAILED = "failed"
    #: the claim would get more devices than its status can hold
    TOO_MANY = "too many"


class Goal(NamedTuple):
    """What remains to be found: all requests from one on, or all devices of an alternative from one on."""

    claim: int
    request: int = 0
    #: of the alternative that is being served, if one is
    alternative: Alternative | None = None
    #: how many devices it has so far
    devices: int = 0
    #: the first candidate for the next one
    start: int = 0


Choice = Generator[Goal, Outcome, Outcome]


class BacktrackLimitError(Exception):
    """The search has backtracked more often than it may."""


class _InfeasibleError(Exception):
    """There is no solution, whatever else is tried."""


class Search:
    """The plain search for devices for claims."""

    def __init__(
        self,
        attempt: Attempt,
        claims: Sequence[ClaimDemand],
        candidates: Sequence[Device],
        all_devices: Mapping[Alternative, Sequence[Device]],
        max_backtracks: int | None = None,
    ) -> None:
        """Prepare a search; parameters as for :func:`allocator.solving.solve`.

        :param max_backtracks: how many devices the search may give back; None for any number.
        """
        self._attempt = attempt
        self._claims = claims
        self._candidates = candidates
        self._all_devices = all_devices
        self._backtracks_left = max_backtracks

    def run(self) -> bool:
        """Search for the first solution.

        :returns: whether there is one; the attempt has it then.
        :raises AllocationError: if the search ends with an error.
        :raises BacktrackLimitError: if it backtracks too often.
        :raises OutOfTime: if its time is over.
        """
        choices: list[Choice] = []
        goal: Goal | None = Goal(0)
        outcome = Outcome.FAILED
        while True:
            if goal is not None:
                if goal.claim == len(self._claims):
                    return True
                choices.append(self._choose(goal))
            elif not choices:
                return False
            try:
                goal = choices[-1].send(outcome) if goal is None else next(choices[-1])
            except _InfeasibleError:
                return False
            except StopIteration as end:
                choices.pop()
                goal, outcome = None, end.value

    def _choose(self, goal: Goal) -> Choice:
        """The next choice on the way to a goal."""
        requests = self._claims[goal.claim].requests
        if goal.request == len(requests):
            return self._next_claim(goal)
        if goal.alternative is None:
            request = requests[goal.request]
            if request.is_list:
                return self._any_alternative(goal, request.alternatives)
            goal = Goal(goal.claim, goal.request, request.alternatives[0])
        assert goal.alternative is not None
        return self._devices(goal, goal.alternative)

    def _next_claim(self, goal: Goal) -> Choice:
        yield Goal(goal.claim + 1)
        # If a later claim gets too many devices, other devices for this one may still help.
        return Outcome.FAILED

    def _any_alternative(self, goal: Goal, alternatives: Sequence[Alternative]) -> Choice:
        """Try alternatives in order. If all of them take too many devices, other devices for earlier requests do not help."""
        result = Outcome.TOO_MANY
        for alternative in alternatives:
            if (yield Goal(goal.claim, goal.request, alternative)) is not Outcome.TOO_MANY:
                result = Outcome.FAILED
        return result

    def _devices(self, goal: Goal, alternative: Alternative) -> Choice:
        everything = self._all_devices.get(alternative)
        if everything is not None and not everything and not self._attempt.features.all_can_be_none:
            return Outcome.FAILED
        wanted = alternative.count if everything is None else len(everything)
        if goal.devices >= wanted:
            return (yield Goal(goal.claim, goal.request + 1))
        room = ALLOCATION_RESULTS - len(self._attempt.taken(alternative.claim))
        if wanted - goal.devices > room:
            return Outcome.TOO_MANY
        if everything is not None:
            return (yield from self._this_device(goal, alternative, everything[goal.devices]))
        return (yield from self._any_device(goal, alternative))

    def _this_device(self, goal: Goal, alternative: Alternative, device: Device) -> Choice:
        mark = self._attempt.mark()
        if not self._attempt.take(alternative, device, must=True):
            if self._attempt.features.all_can_be_none:
                raise _InfeasibleError
            return Outcome.FAILED
        return (yield from self._go_on(goal, alternative, device, mark, 0))

    def _any_device(self, goal: Goal, alternative: Alternative) -> Choice:
        attempt, candidates = self._attempt, self._candidates
        attempt.time_limit.check()
        for index in attempt.candidates(alternative, candidates, goal.start):
            device = candidates[index]
            mark = attempt.mark()
            if not attempt.take(alternative, device, must=False):
                continue
            outcome = yield from self._go_on(
                goal, alternative, device, mark, attempt.after(alternative, device, index)
            )
            if outcome is Outcome.TOO_MANY:
                return outcome
            self._count_backtrack()
        return Outcome.FAILED

    def _go_on(
        self, goal: Goal, alternative: Alternative, device: Device, mark: int, start: int
    ) -> Generator[Goal, Outcome, Outcome]:
        """Continue after a device is taken, with the next one from `start` on; give it back if that fails."""
        attempt = self._attempt
        following = alternative
        if attempt.features.minor < 36 and alternative in self._all_devices:
            # Before 1.36, All goes on with the first alternative, whichever it has begun with.
            following = self._claims[goal.claim].requests[goal.request].alternatives[0]
        outcome = yield Goal(goal.claim, goal.request, following, goal.devices + 1, start)
        attempt.give_back(mark, alternative, device)
        return outcome

    def _count_backtrack(self) -> None:
        if self._backtracks_left is not None:
            self._backtracks_left -= 1
            if self._backtracks_left < 0:
                raise BacktrackLimitError
