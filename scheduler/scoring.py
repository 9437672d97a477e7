"""The scores of nodes: which of a pod's alternatives its claims get there, and with best-fit what that wastes.

KEP-4816 gives a request 8 points for the first alternative of its list (`firstAvailable`) and 1 for the eighth, and spreads
the sums of the nodes from 0 (worst) to 100 (best). kube-scheduler 1.37.1 does otherwise: 100 times the sum over the highest
sum. An extender gives scores from 0 to 10, which kube-scheduler takes times 10 and times the extender's weight.
`docs/explanation/scoring.md` has the reasons and examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from allocator.best_fit import Proposal
from allocator.fitting.waste import Waste
from allocator.node_scores import normalized, points_of
from resourceapi.manifests import uid_of
from scheduler.decisions import Decision, Decisions
from scheduler.extender_api import MAX_SCORE, MIN_SCORE, CandidateNodes

#: The highest score of a plugin of kube-scheduler.
PERCENT = 100


class Offer(NamedTuple):
    """What a node has for a pod.

    :param places: how far down its list each alternative is that would be allocated, 0 for the first.
    :param waste: how much devices that is a waste of, where somebody has found out.
    """

    node: str
    places: Sequence[int]
    waste: Waste | None = None


class Scoring(Enum):
    """How nodes are compared."""

    KEP = "KEP"
    UPSTREAM = "Upstream"


def scores(scoring: Scoring, offers: Sequence[Offer], allocated: Sequence[int] = ()) -> dict[str, int]:
    """The score of each node, from 0 to 10.

    :param offers: what the nodes have for the pod's claims that are not allocated yet.
    :param allocated: places of the alternatives that the pod's other claims have, for :attr:`Scoring.UPSTREAM`.
    """
    percent = _FORMULAS[scoring](offers, allocated)
    found = dict(zip((offer.node for offer in offers), in_tenths(percent), strict=True))
    if all(offer.waste is None for offer in offers):
        return found
    return _with_less_waste_first(offers, percent, found)


def kep_percent(offers: Sequence[Offer], allocated: Sequence[int] = ()) -> list[int]:
    """The scores of KEP-4816, from 0 to 100; claims that are allocated already are not scored."""
    points = [points_of(offer.places) for offer in offers]
    least, most = min(points, default=0), max(points, default=0)
    if least == most:
        return [0] * len(points)
    return [(each - least) * PERCENT // (most - least) for each in points]


def upstream_percent(offers: Sequence[Offer], allocated: Sequence[int] = ()) -> list[int]:
    """The scores of kube-scheduler 1.37.1, from 0 to 100; claims that are allocated already count, too."""
    return normalized([points_of((*allocated, *offer.places)) for offer in offers])


_FORMULAS: dict[Scoring, Callable[[Sequence[Offer], Sequence[int]], list[int]]] = {
    Scoring.KEP: kep_percent,
    Scoring.UPSTREAM: upstream_percent,
}


def in_tenths(percent: Sequence[int]) -> list[int]:
    """Scores from 0 to 100 as an extender can give them: tenths, rounded so that no better node is equal to a worse one.

    Up to 11 different scores stay different; of more, only the highest stays apart.
    """
    levels = sorted(set(percent))
    tenths = [(each * MAX_SCORE + PERCENT // 2) // PERCENT for each in levels]
    if len(levels) <= MAX_SCORE + 1:
        for upper in range(1, len(levels)):
            tenths[upper] = max(tenths[upper], tenths[upper - 1] + 1)
        limit = MAX_SCORE
        for index in reversed(range(len(levels))):
            tenths[index] = limit = min(tenths[index], limit)
            limit -= 1
    else:
        tenths[:-1] = [min(each, tenths[-1] - 1) for each in tenths[:-1]]
    found = dict(zip(levels, tenths, strict=True))
    return [found[each] for each in percent]


def _with_less_waste_first(
    offers: Sequence[Offer], percent: Sequence[int], found: Mapping[str, int]
) -> dict[str, int]:
    """Set nodes of equal scores apart by what they waste, within the upper half of the distance to the next lower score.

    If all nodes are equal, they get the whole range.
    """
    worth = {offer.node: (-score, _waste_of(offer)) for offer, score in zip(offers, percent, strict=True)}
    levels = sorted(set(found.values()))
    result: dict[str, int] = {}
    for level, below in zip(levels, [levels[0], *levels], strict=False):
        members = [node for node in worth if found[node] == level]
        top, room = (level, (level - below) // 2) if len(levels) > 1 else (MAX_SCORE,) * 2
        ranks = sorted({worth[node] for node in members})
        steps = max(len(ranks) - 1, 1)
        lost = {each: (rank * room + steps - 1) // steps for rank, each in enumerate(ranks)}
        result.update((node, top - lost[worth[node]]) for node in members)
    return {offer.node: result[offer.node] for offer in offers}


def _waste_of(offer: Offer) -> tuple[bool, Waste]:
    """A key to sort by; nodes of which the waste is not known come last."""
    return (True, ()) if offer.waste is None else (False, offer.waste)


class Scorer:
    """The extender's prioritize: scores nodes from what filter has found for the pod."""

    def __init__(self, decisions: Decisions, scoring: Scoring) -> None:
        self._decisions = decisions
        self._scoring = scoring

    def scores(self, candidates: CandidateNodes) -> dict[str, int]:
        """The score of each candidate; 0 for all if the pod has no claims."""
        decision = self._decisions.get(uid_of(candidates.pod))
        if decision is None:
            return dict.fromkeys(candidates.nodes, MIN_SCORE)
        offers = [offer for node in candidates.nodes if (offer := _offer(decision, node)) is not None]
        found = scores(self._scoring, offers, decision.alternatives)
        return {node: found.get(node, MIN_SCORE) for node in candidates.nodes}


def _offer(decision: Decision, node: str) -> Offer | None:
    place = decision.places.get(node)
    if place is None:
        return None
    outcome = decision.answers.outcomes[place]
    return Offer(node, outcome.places, outcome.waste if isinstance(outcome, Proposal) else None)
