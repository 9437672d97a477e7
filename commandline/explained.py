"""Explanations for everybody who asks."""

from __future__ import annotations

from allocator.explaining.explanation import FITS, UNDECIDED, Explanation, explain
from allocator.podnodes import excluded
from commandline.askers import Asker
from commandline.situation import Situation

INVALID = "cannot be answered"


class Explained:
    """An asker and the explanation; none if it cannot be answered for."""

    def __init__(self, asker: Asker, explanation: Explanation | None) -> None:
        self.asker = asker
        self.explanation = explanation

    @property
    def verdict(self) -> str:
        return INVALID if self.explanation is None else self.explanation.verdict

    @property
    def unanswered(self) -> bool:
        """Whether it is not known if it fits."""
        return self.verdict in (INVALID, UNDECIDED)

    @property
    def fits(self) -> bool:
        return self.verdict == FITS


def explain_all(situation: Situation, node: str = "") -> list[Explained]:
    """Explain each asker by itself, as if the others were not there; `node`: look at no other node."""
    return [_explained(situation, asker, node) for asker in situation.askers]


def _explained(situation: Situation, asker: Asker, node: str) -> Explained:
    if asker.problem:
        return Explained(asker, None)
    world = situation.world
    closed = excluded(asker.pod_spec, world.nodes.values())
    if node:
        closed |= {name: f"only {node} is looked at" for name in world.nodes if name != node}
    return Explained(asker, explain(world, asker.claims, closed))
