"""The claims of a pod, node by node: by extended resources it may claim devices on some nodes and none on others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from allocator.nodes import NodeClass
from allocator.plans import Outcome, Plan
from resourceapi.node_selection import selects
from resourceapi.objects import Object
from resourceapi.records.claims import allocation_of


class ClaimsOnNodes(NamedTuple):
    """What a pod claims on some nodes, where that differs from what it claims elsewhere."""

    nodes: Collection[str]
    claims: Sequence[Object]


class ClaimsOnNode(NamedTuple):
    """A pod's claims that are to be allocated, and the node selectors of those that are."""

    unallocated: Sequence[Object]
    selectors: Sequence[Object]

    @classmethod
    def of(cls, claims: Sequence[Object]) -> ClaimsOnNode:
        """Those of a pod."""
        held = [(claim, allocation_of(claim)) for claim in claims]
        selectors = [each.get("nodeSelector") for _, each in held if each is not None]
        return cls(
            [claim for claim, each in held if each is None], [each for each in selectors if each is not None]
        )

    def is_away_from(self, node: Object) -> bool:
        """Whether an allocated claim is not available on a node."""
        return not all(selects(selector, node) for selector in self.selectors)


class PodClaims:
    """A pod's claims on each node: `on` some by their names, and `elsewhere`."""

    __slots__ = ("elsewhere", "on")

    def __init__(self, claims: Sequence[Object], instead: Sequence[ClaimsOnNodes]) -> None:
        self.elsewhere = ClaimsOnNode.of(claims)
        self.on: dict[str, ClaimsOnNode] = {}
        for each in instead:
            self.on.update(dict.fromkeys(each.nodes, ClaimsOnNode.of(each.claims)))


class AskedClaims:
    """The plan for claims, and the outcomes so far by class of nodes."""

    __slots__ = ("outcomes", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.outcomes: dict[NodeClass, Outcome] = {}
