"""In a few words, why the claims of a pod do not fit on a node: words that are the same on nodes with the same reason."""

from __future__ import annotations

from collections.abc import Sequence

from allocator.demand import Alternative, ClaimDemand, RequestDemand
from allocator.explaining.snapshot import Seen
from allocator.explaining.steps import NodeView
from allocator.rules.selector_outcomes import SelectorOutcomes

TOGETHER = "each request has enough devices, but not all requests together"


class Shortfalls:
    """What nodes lack for the claims of one pod."""

    def __init__(self, seen: Seen, demand: Sequence[ClaimDemand], outcomes: SelectorOutcomes) -> None:
        """Prepare to look at nodes.

        :param demand: the claims that are to be allocated.
        :param outcomes: what is known of selectors already.
        """
        self._seen = seen
        self._demand = demand
        self._outcomes = outcomes

    def on(self, node: str) -> str:
        """What is in the way on a node on which the pod does not fit.

        The first request that finds too few devices by itself: because too few match it, or because others have them.
        """
        view = NodeView(self._seen, node, self._outcomes)
        for claim in self._demand:
            for request in claim.requests:
                lacks = [_lack(view, alternative) for alternative in request.alternatives]
                if all(lacks):
                    return _shortfall(request, lacks)
        return TOGETHER


#: How far a request is from being served, the farthest first.
_NO_POOL, _NO_MATCH, _FEW_MATCH, _IN_USE = range(1, 5)


def _lack(view: NodeView, alternative: Alternative) -> int:
    """Why an alternative finds too few devices by itself; 0 if it finds enough."""
    if alternative.problem:
        return _NO_MATCH
    passed = view.steps(alternative)
    needed = max(len(passed.selected), 1) if alternative.takes_all else alternative.count
    if len(passed.left) >= needed:
        return 0
    if len(passed.selected) >= needed:
        return _IN_USE
    if any(not pool.usable for pool in view.pools):
        return _NO_POOL
    return _FEW_MATCH if passed.selected else _NO_MATCH


def _shortfall(request: RequestDemand, lacks: Sequence[int]) -> str:
    name = request.name
    return {
        _NO_POOL: f"request {name}: a resource pool is incomplete or invalid",
        _NO_MATCH: f"request {name}: no device matches",
        _FEW_MATCH: f"request {name}: too few devices match",
        _IN_USE: f"request {name}: devices match, but too few are available",
    }[max(lacks)]
