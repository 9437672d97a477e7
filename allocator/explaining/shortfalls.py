"""In a few words, why the claims of a pod do not fit on a node: words that are the same on nodes with the same reason."""

from __future__ import annotations

from collections.abc import Sequence

from allocator.demand import Alternative, ClaimDemand
from allocator.explaining.snapshot import Seen
from allocator.explaining.steps import NodeView
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.rules.standing import FeatureGates

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

        The first request that finds too few devices by itself, and the rule that leaves too few; of alternatives, the one
        that comes farthest counts.

        :raises OutOfTime: if the time for outcomes is over before that is known.
        """
        view = NodeView(self._seen, node, self._outcomes)
        for claim in self._demand:
            for request in claim.requests:
                lacks = [_lack(view, alternative) for alternative in request.alternatives]
                if all(steps for steps, _ in lacks):
                    return f"request {request.name}: {max(lacks)[1]}"
        return TOGETHER


_NO_POOL = "a resource pool is incomplete or invalid"
_NO_MATCH, _FEW_MATCH = "no device matches", "too few devices match"


def _lack(view: NodeView, alternative: Alternative) -> tuple[int, str]:
    """How many steps an alternative comes by itself before too few devices are left, and at which; 0 if that never happens."""
    view.outcomes.time_limit.check()
    if alternative.problem:
        return 1, _NO_MATCH
    passed = view.steps(alternative)
    needed = max(len(passed.selected), 1) if alternative.takes_all else alternative.count
    if len(passed.left) >= needed:
        return 0, ""
    place, step = next((place, each) for place, each in enumerate(passed.steps) if each.left < needed)
    if step.selects:
        if len(passed.selected) + len(view.unusable(alternative)) >= needed:
            return 1 + place, _NO_POOL
        if any(each.rule == FeatureGates.name for each in passed.steps):
            off = view.switched_off(alternative)
            if off and len(passed.selected) + len(off) >= needed:
                return (
                    1 + place,
                    f"{_FEW_MATCH if step.left else _NO_MATCH} while {' and '.join(sorted(set(off)))}",
                )
        return 1 + place, _FEW_MATCH if step.left else _NO_MATCH
    return 1 + place, f"too few devices left after {step.title}"
