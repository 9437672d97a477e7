"""Finding devices: greedily, then by the plain search, and with constraint propagation if that backtracks too often."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from allocator.attempt import Attempt
from allocator.demand import Alternative, ClaimDemand
from allocator.devices import Device
from allocator.errors import SearchLimitError
from allocator.features import Features
from allocator.greedy import GreedySearch, lacks_candidates
from allocator.pools import namesakes
from allocator.search import BacktrackLimitError, Search

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
    from allocator.pruning.problem import Problem
    from allocator.pruning.search import PrunedSearch

    return PrunedSearch(Problem(attempt, claims, candidates, all_devices, features)).run()


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
