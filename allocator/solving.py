"""Finding devices: greedily, then by the plain search, and with constraint propagation if that backtracks too often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from allocator.attempt import Attempt
from allocator.demand import Alternative, ClaimDemand, RequestDemand
from allocator.devices import Device
from allocator.errors import AllocationError, SearchLimitError
from allocator.features import Features
from allocator.pools import namesakes
from allocator.rules.capacity import Capacity
from allocator.rules.standing import ExclusiveUse
from allocator.search import BacktrackLimitError, Search
from resourceapi.limits import ALLOCATION_RESULTS

# Greedy search: most pods get the first devices that can be taken one after the other, or do not fit at
# all.
# This is what `allocator.search` does until it backtracks for the first time, without generators.


class GreedySearch:
    """Takes devices for claims without backtracking."""

    def __init__(
        self,
        attempt: Attempt,
        candidates: Sequence[Device],
        all_devices: Mapping[Alternative, Sequence[Device]],
    ) -> None:
        """Prepare a search; parameters as for :func:`solve`."""
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


MAX_BACKTRACKS = 40
"""How many devices the plain search may give back. Most pods need none; propagation costs as much as some dozens."""

MAX_FORMER_BACKTRACKS = 10_000
"""The same where nothing else helps."""


def solve(
    attempt: Attempt,
    claims: Sequence[ClaimDemand],
    candidates: Sequence[Device],
    all_devices: Mapping[Alternative, Sequence[Device]],
    features: Features,
    hard: Callable[[], None] | None = None,
) -> bool:
    """Find the first solution.

    :param attempt: the state of the node; has the solution if there is one.
    :param claims: the claims to serve, in order.
    :param candidates: the devices of the node, in the order in which they are tried.
    :param all_devices: the devices that each alternative with mode `All` must have.
    :param hard: called before a search that may take long; what it raises ends the search.
    :returns: whether there is a solution.
    :raises AllocationError: if the search ends with an error.
    :raises SearchLimitError: if it takes too many steps.
    :raises OutOfTime: if the attempt's time is over.
    """
    if _has_former_rules(attempt, claims, features):
        try:
            return Search(attempt, claims, candidates, all_devices, MAX_FORMER_BACKTRACKS).run()
        except BacktrackLimitError:
            raise SearchLimitError from None
    start = attempt.mark()
    easy = GreedySearch(attempt, candidates, all_devices).run(claims)
    if easy is not None:
        return easy
    attempt.undo(start)
    if lacks_candidates(attempt, claims, candidates, all_devices):
        return False
    try:
        return Search(attempt, claims, candidates, all_devices, MAX_BACKTRACKS).run()
    except BacktrackLimitError:
        attempt.undo(start)
    if hard is not None:
        hard()
    from allocator.pruning.problem import SearchProblem
    from allocator.pruning.search import PrunedSearch

    return PrunedSearch(SearchProblem(attempt, claims, candidates, all_devices, features)).run()


def _has_former_rules(attempt: Attempt, claims: Sequence[ClaimDemand], features: Features) -> bool:
    """Whether rules of former releases are about the claims with which propagation does not reckon."""
    if features.minor >= 37:
        return False
    if any(each.distinct for claim in claims for each in claim.constraints):
        return True
    if features.minor < 36 and (features.partitionable_devices or features.consumable_capacity):
        return True
    every = [each for claim in claims for request in claim.requests for each in request.alternatives]
    if features.keeps_all and any(each.takes_all or each.admin_access for each in every):
        return True
    alternatives = [
        each for claim in claims for request in claim.requests for each in request.alternatives[1:]
    ]
    return (
        bool(attempt.closed)
        or bool(namesakes(attempt.pools, features))
        or (features.minor < 36 and any(each.takes_all for each in alternatives))
    )
