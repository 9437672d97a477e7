"""Greedy search: most pods get the first devices that can be taken one after the other, or do not fit at all.

This is what `allocator.search` does until it backtracks for the first time, without generators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allocator.attempt import Attempt
from allocator.demand import Alternative, ClaimDemand, RequestDemand
from allocator.devices import Device
from allocator.errors import AllocationError
from allocator.rules.capacity import Capacity
from allocator.rules.exclusive_use import ExclusiveUse
from resourceapi.limits import ALLOCATION_RESULTS


class GreedySearch:
    """Takes devices for claims without backtracking."""

    def __init__(
        self,
        attempt: Attempt,
        candidates: Sequence[Device],
        all_devices: Mapping[Alternative, Sequence[Device]],
    ) -> None:
        """Prepare a search; parameters as for :func:`allocator.solving.solve`."""
        self._attempt = attempt
        self._candidates = candidates
        self._all_devices = all_devices

    def run(self, claims: Sequence[ClaimDemand]) -> bool | None:
        """Take the first possible device for each request in turn.

        :returns: whether there is a solution, of which the attempt has the first then; None if that is undecided, after
            which the caller has to undo the attempt.
        :raises AllocationError: if the search ends with an error.
        """
        chose = False
        for claim in claims:
            for request in claim.requests:
                served = self._serve(request)
                if not served:
                    # Other devices for earlier requests might have helped.
                    return None if chose else served
                chose = True
        return True

    def _serve(self, request: RequestDemand) -> bool | None:
        for alternative in request.alternatives:
            everything = self._all_devices.get(alternative)
            wanted = alternative.count if everything is None else len(everything)
            if wanted > ALLOCATION_RESULTS - len(self._attempt.taken(alternative.claim)):
                return None
            if everything is None:
                served = self._take_first(alternative)
            else:
                served = self._take_all(alternative, everything)
            if served is not False:
                return served
        return False

    def _take_all(self, alternative: Alternative, devices: Sequence[Device]) -> bool:
        attempt = self._attempt
        mark = attempt.mark()
        for device in devices:
            if not attempt.take(alternative, device, must=True):
                attempt.undo(mark)
                return False
        return bool(devices)

    def _take_first(self, alternative: Alternative) -> bool | None:
        """Whether the alternative gets its devices; None if it might get other ones."""
        attempt = self._attempt
        attempt.time_limit.check()
        mark, missing, refused = attempt.mark(), alternative.count, False
        if not missing:
            return True
        for place in attempt.candidates(alternative, self._candidates):
            if not attempt.take(alternative, self._candidates[place], must=False):
                refused = True
                continue
            missing -= 1
            if not missing:
                return True
        if missing < alternative.count and (refused or alternative.derived):
            # After another choice, devices that were excluded might be possible, or raise an error.
            return None
        attempt.undo(mark)
        return False


def lacks_candidates(
    attempt: Attempt,
    claims: Sequence[ClaimDemand],
    candidates: Sequence[Device],
    all_devices: Mapping[Alternative, Sequence[Device]],
) -> bool:
    """Whether there is certainly no solution, because a request has too few devices even if the others take none.

    The attempt must not have taken anything. False if an expression fails on any device, as the search might end there.
    """
    if all_devices:
        return False
    requests = [request for claim in claims for request in claim.requests]
    try:
        # All requests are checked, because any of them may raise an error.
        served = [_may_be_served(attempt, request, candidates) for request in requests]
    except AllocationError:
        return False
    return not all(served)


def _may_be_served(attempt: Attempt, request: RequestDemand, candidates: Sequence[Device]) -> bool:
    """Whether a request finds enough devices.

    :raises AllocationError: if any device might end the search.
    """
    enough = False
    for alternative in request.alternatives:
        if alternative.derived:
            raise AllocationError("attributes are derived when devices are taken")
        attempt.time_limit.check()
        found = [
            device
            for device in candidates
            if attempt.selects(alternative, device)
            and ExclusiveUse.admits(attempt, alternative, device)
            and Capacity.admits(attempt, alternative, device)
        ]
        enough = enough or len(found) >= alternative.count
    return enough
