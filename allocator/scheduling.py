"""Pods in a cluster, one after the other: on which nodes their claims fit, and what is held afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from allocator.allocated import AllocatedState
from allocator.allocation import Allocator
from allocator.demand import ClaimDemand
from allocator.devices import Object, node_name
from allocator.errors import AllocationError, NodeError
from allocator.features import Features
from allocator.inventory import Inventory
from resourceapi.nodeselection import selects


class Mode(Enum):
    """Which nodes are asked, and whether the answer is kept."""

    #: nodes in order until one fits; that result is kept
    FIRST_FIT = "first-fit"
    #: every node, nothing is kept
    ALL_NODES = "all-nodes"


FATAL, NODE = "fatal", "node"


class NodeAnswer(NamedTuple):
    """What a node has for a pod. Without `result` and `error` the pod's claims do not fit.

    `result`: one AllocationResult (v1, normal form) for each claim that was not allocated yet. `error_kind`: FATAL if
    other nodes cannot help.
    """

    node: str
    result: list[Object] | None = None
    error: str = ""
    error_kind: str = ""


class PodAnswer(NamedTuple):
    """What became of a pod; `placed` is the node whose result was kept, if one was."""

    nodes: list[NodeAnswer]
    placed: str = ""


class Cluster:
    """Nodes, inventory and claims; all objects but nodes (JSON) are those of v1 in normal form."""

    def __init__(
        self,
        features: Features,
        nodes: Iterable[Object],
        classes: Mapping[str, Object],
        slices: Iterable[Object],
    ) -> None:
        self.nodes = {node_name(node): node for node in nodes}
        self.allocated = AllocatedState(features)
        self._allocator = Allocator(features, classes, Inventory(slices), self.allocated)

    def hold(self, claim: Object) -> None:
        """Count what a claim holds, if it is allocated."""
        allocation = (claim.get("status") or {}).get("allocation")
        if allocation is not None:
            self.allocated.add(allocation)

    def release(self, claim: Object) -> None:
        """Take the allocation of a claim away from it."""
        allocation = (claim.get("status") or {}).pop("allocation", None)
        if allocation is not None:
            self.allocated.remove(allocation)

    def place(self, claims: Sequence[Object], mode: Mode, only_node: str | None = None) -> PodAnswer:
        """Look for nodes for a pod with these claims; in mode FIRST_FIT they get what the first node has for them."""
        unallocated = [claim for claim in claims if "allocation" not in (claim.get("status") or {})]
        bound = [selector for claim in claims if (selector := _node_selector(claim)) is not None]
        demand = self._allocator.demand(unallocated)
        answers = []
        for name, node in self.nodes.items():
            if only_node is not None and name != only_node:
                continue
            answer = self._ask(node, demand, bound)
            answers.append(answer)
            if mode is Mode.FIRST_FIT and answer.error_kind == FATAL:
                break
            if mode is Mode.FIRST_FIT and answer.result is not None:
                self._keep(unallocated, answer.result)
                return PodAnswer(answers, name)
        return PodAnswer(answers)

    def _ask(self, node: Object, demand: Sequence[ClaimDemand], bound: Sequence[Object]) -> NodeAnswer:
        name = node_name(node)
        if not all(selects(selector, node) for selector in bound):
            return NodeAnswer(name, error="allocated claim is not available on the node", error_kind=NODE)
        try:
            return NodeAnswer(name, self._allocator.allocate(node, demand))
        except AllocationError as error:
            return NodeAnswer(name, error=str(error), error_kind=FATAL)
        except NodeError as error:
            return NodeAnswer(name, error=str(error), error_kind=NODE)

    def _keep(self, claims: Sequence[Object], results: Sequence[Object]) -> None:
        for claim, result in zip(claims, results, strict=True):
            claim.setdefault("status", {})["allocation"] = result
            self.allocated.add(result)


def _node_selector(claim: Object) -> Object | None:
    allocation: Object = (claim.get("status") or {}).get("allocation") or {}
    return allocation.get("nodeSelector")
