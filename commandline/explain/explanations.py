"""Explanations for everybody who asks."""

from __future__ import annotations

from allocator.explaining.explanation import FITS, UNDECIDED, Explanation, explain
from allocator.explaining.snapshot import Snapshot, allocation_of
from allocator.pod_nodes import excluded, host_name, named_node, passed_over
from commandline.scenario import Situation
from commandline.workloads import Asker

INVALID, BYPASSED = "cannot be answered", "bypasses the scheduler"


class Explained:
    """An asker and the explanation; none if it cannot be answered for (`asker.problem`), or if the scheduler never sees
    the pod: then `bypassed` says what becomes of it."""

    def __init__(self, asker: Asker, explanation: Explanation | None, bypassed: str = "") -> None:
        self.asker = asker
        self.explanation = explanation
        self.bypassed = bypassed

    @property
    def verdict(self) -> str:
        if self.bypassed:
            return BYPASSED
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
    bypassed = _bypassed(world, asker)
    if bypassed:
        return Explained(asker, None, bypassed)
    closed = excluded(asker.pod_spec, world.nodes.values())
    if node:
        only = (f"only {node} is looked at",)
        closed |= {name: (*closed.get(name, ()), *only) for name in world.nodes if name != node}
    return Explained(asker, explain(world, asker.claims, closed))


def _bypassed(world: Snapshot, asker: Asker) -> str:
    """What becomes of a pod that names its node, unless its claims are allocated already."""
    node = named_node(asker.pod_spec)
    if not node or all(allocation_of(claim) is not None for claim in asker.claims):
        return ""
    known = world.nodes.get(node)
    return passed_over(node, node if known is None else host_name(known))
