"""The scores of nodes: which of a pod's alternatives its claims get there, and with best-fit what that wastes.

`allocator.node_scores` has the formulas, `docs/explanation/scoring.md` the reasons and examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from allocator.best_fit import Proposal
from allocator.fitting.waste import Waste
from allocator.node_scores import MAX_EXTENDER_SCORE, in_tenths, kep_percent, upstream_percent
from resourceapi.manifests import uid_of
from scheduler.decisions import Decision, Decisions
from scheduler.extender_api import MIN_SCORE, CandidateNodes


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
    percent = _FORMULAS[scoring]([each.places for each in offers], allocated)
    found = dict(zip((offer.node for offer in offers), in_tenths(percent), strict=True))
    if all(offer.waste is None for offer in offers):
        return found
    return _with_less_waste_first(offers, percent, found)


_FORMULAS: dict[Scoring, Callable[[Sequence[Sequence[int]], Sequence[int]], list[int]]] = {
    Scoring.KEP: kep_percent,
    Scoring.UPSTREAM: upstream_percent,
}


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
        top, room = (level, (level - below) // 2) if len(levels) > 1 else (MAX_EXTENDER_SCORE,) * 2
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
