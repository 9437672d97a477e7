"""Explains every workload of a scenario."""

from __future__ import annotations

from typing import NamedTuple

from allocator.allocated import allocation_of
from allocator.explaining.explanation import FITS, UNDECIDED, Explanation, explain
from allocator.explaining.snapshot import Snapshot
from allocator.pod_nodes import excluded, host_name, named_node, passed_over
from cluster.workloads import Workload
from commandline.results import Failure
from commandline.scenario import Scenario

INVALID, BYPASSED = "cannot be answered", "bypasses the scheduler"


class Explained:
    """A workload with its explanation.

    :param explanation: None for a workload with a problem, and for pods that never reach the scheduler.
    :param bypassed: what happens to pods that never reach the scheduler.
    """

    def __init__(self, workload: Workload, explanation: Explanation | None, bypassed: str = "") -> None:
        self.workload = workload
        self.explanation = explanation
        self.bypassed = bypassed

    @property
    def verdict(self) -> str:
        """The answer in a few words, as in the JSON report."""
        if self.bypassed:
            return BYPASSED
        return INVALID if self.explanation is None else self.explanation.verdict

    @property
    def unanswered(self) -> bool:
        """Whether it is unknown if the workload fits."""
        return self.verdict in (INVALID, UNDECIDED)

    @property
    def fits(self) -> bool:
        """Whether all claims of a pod can be allocated together on some node."""
        return self.verdict == FITS


class Answer(NamedTuple):
    """Every workload explained, and what could not be read."""

    explained: list[Explained]
    failures: list[Failure]


def explain_all(scenario: Scenario, node: str = "") -> Answer:
    """Explain each workload by itself, as if the others did not exist.

    :param node: the only node to consider; empty: all.
    """
    explained = [_explain(scenario.snapshot, workload, node) for workload in scenario.workloads]
    return Answer(explained, scenario.failures)


def _explain(snapshot: Snapshot, workload: Workload, node: str) -> Explained:
    if workload.problem:
        return Explained(workload, None)
    if bypassed := _bypassed(snapshot, workload):
        return Explained(workload, None, bypassed)
    closed = excluded(workload.pod_spec, snapshot.nodes.values())
    if node:
        only = (f"only {node} is considered",)
        closed |= {name: (*closed.get(name, ()), *only) for name in snapshot.nodes if name != node}
    return Explained(workload, explain(snapshot, workload.claims, closed))


def _bypassed(snapshot: Snapshot, workload: Workload) -> str:
    """What happens to a pod with spec.nodeName, unless its claims are allocated already."""
    node = named_node(workload.pod_spec)
    if not node or all(allocation_of(claim) is not None for claim in workload.claims):
        return ""
    known = snapshot.nodes.get(node)
    return passed_over(node, node if known is None else host_name(known))
