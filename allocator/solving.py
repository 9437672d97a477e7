"""Finding devices: plainly as long as that is easy, with foresight where it is not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from allocator.attempt import Attempt
from allocator.demand import Alternative, ClaimDemand
from allocator.devices import Device
from allocator.features import Features
from allocator.greedy import GreedySearch, lacks_candidates
from allocator.search import BacktrackLimitError, Search
from allocator.time_limit import UNLIMITED, TimeLimit

MAX_BACKTRACKS = 40
"""How many devices the plain search may give back. Most pods need none; foresight costs as much as some dozens."""


def solve(
    attempt: Attempt,
    claims: Sequence[ClaimDemand],
    candidates: Sequence[Device],
    all_devices: Mapping[Alternative, Sequence[Device]],
    features: Features,
    hard: Callable[[], None] | None = None,
    time_limit: TimeLimit = UNLIMITED,
) -> bool:
    """Whether there is a solution; the attempt has the first one then.

    Raises AllocationError, SearchLimitError, and OutOfTime.

    `hard` is called where foresight is needed, which takes long, and may raise what ends the search.
    """
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

    return PrunedSearch(
        Problem(attempt, claims, candidates, all_devices, features), time_limit=time_limit
    ).run()
