"""Explains every workload of a scenario."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import NamedTuple

from allocator.allocated import allocation_of
from allocator.explaining.explanation import FITS, MISFIT, SECONDS, UNDECIDED, Explanation, explain
from allocator.explaining.node_remedies import lower_requests
from allocator.explaining.snapshot import full_name
from allocator.pod_claims import ClaimsOnNodes
from allocator.pod_nodes import RESOURCES, Refusal, host_name, named_node, passed_over, rejections, spoken
from allocator.scheduler_messages import device_reason, unavailable
from allocator.time_limit import TimeLimit
from cluster.workloads import Workload
from commandline.progress import Progress
from commandline.results import Failure
from commandline.scenario import Scenario
from resourceapi.extended_resources import GATE
from resourceapi.gates import switchable
from resourceapi.objects import Object

INVALID, BYPASSED = "cannot be answered", "bypasses the scheduler"


class Explained:
    """A workload with its explanation.

    :param explanation: None for a workload with a problem, and for pods that never reach the scheduler.
    :param bypassed: what happens to pods that never reach the scheduler.
    :param bound: the node of a pod that has all it needs there already.
    :param rejected: the nodes on which kube-scheduler does not look for devices, and why.
    :param unavailable: the message that kube-scheduler would have for it; empty if the pod fits, or for another message.
    """

    def __init__(
        self,
        workload: Workload,
        explanation: Explanation | None,
        bypassed: str = "",
        rejected: Mapping[str, Sequence[Refusal]] = MappingProxyType({}),
        unavailable: str = "",
        bound: str = "",
    ) -> None:
        self.workload = workload
        self.explanation = explanation
        self.bypassed = bypassed
        self.bound = bound
        self.rejected = rejected
        self.unavailable = unavailable
        #: where its extended resources come from
        self.resource_notes: list[str] = []

    @property
    def verdict(self) -> str:
        """The answer in a few words, as in the JSON report."""
        if self.bypassed:
            return BYPASSED
        if self.bound:
            return FITS
        return INVALID if self.explanation is None else self.explanation.verdict

    @property
    def allocated(self) -> list[tuple[str, Object]]:
        """The claims that have devices already, by their names, with their allocations."""
        return [
            (full_name(claim), allocation)
            for claim in self.workload.claims
            if (allocation := allocation_of(claim)) is not None
        ]

    @property
    def unanswered(self) -> bool:
        """Whether it is unknown if the workload fits."""
        return self.verdict in (INVALID, UNDECIDED)

    @property
    def fits(self) -> bool:
        """Whether all claims of a pod can be allocated together on some node."""
        return self.verdict == FITS


class Answer(NamedTuple):
    """Every workload explained, what could not be read, and what has been checked."""

    explained: list[Explained]
    failures: list[Failure]
    notes: list[str]


def explain_all(scenario: Scenario, node: str = "", seconds: float = inf) -> Answer:
    """Explain each workload by itself, as if the others did not exist.

    :param node: the only node to consider; empty: all.
    :param seconds: how long all of them may take.
    """
    progress = Progress("pods and claims looked at", len(scenario.workloads))
    limit = TimeLimit(seconds, progress.clock)
    explained = []
    for workload in scenario.workloads:
        progress.step()
        explained.append(_explain(scenario, workload, node, limit.part(SECONDS)))
    progress.done()
    return Answer(explained, scenario.failures, [*scenario.checked(), *_late(explained, limit, seconds)])


def _late(explained: Sequence[Explained], limit: TimeLimit, seconds: float) -> Iterator[str]:
    late = sum(each.verdict == UNDECIDED for each in explained)
    if late and limit.is_over:
        yield f"The time limit of {seconds:g} s was over before {late} of {len(explained)} were decided (--timeout)."


def _explain(scenario: Scenario, workload: Workload, node: str, limit: TimeLimit) -> Explained:
    snapshot, resources = scenario.snapshot, scenario.node_resources
    if workload.problem:
        return Explained(workload, None)
    instead = workload.claims_by_nodes(resources)
    if on := named_node(workload.pod_spec):
        return _on_its_node(scenario, workload, on, instead)
    needs = workload.needs if workload.is_pod else None
    rejected = rejections(workload.pod_spec, needs, snapshot.nodes.values(), resources)
    excluded = {name: tuple(reason.named for reason in reasons) for name, reasons in rejected.items()}
    openings = {each.named: each.remedy for reasons in rejected.values() for each in reasons}
    if node:
        only = (f"only {node} is considered",)
        openings[only[0]] = f"on other nodes than {node}, without --node"
        excluded |= {name: (*excluded.get(name, ()), *only) for name in snapshot.nodes if name != node}
    full = {name for name, reasons in rejected.items() if any(each.plugin == RESOURCES for each in reasons)}
    profile = scenario.state.profile
    gates = switchable(profile.minor, profile.gates)
    found = explain(
        snapshot,
        workload.claims,
        excluded,
        limit,
        instead=instead,
        full=full,
        gates=gates,
        openings=openings,
        made_for=workload.made_for,
    )
    if found.verdict == MISFIT and full:
        found.remedies[:0] = lower_requests(
            snapshot, workload.claims, workload.needs, resources, rejected, instead
        )
    message = _unavailable(found, rejected) if scenario.is_whole and not node else ""
    explained = Explained(workload, found, rejected=rejected, unavailable=message)
    explained.resource_notes = _resource_notes(scenario, explained)
    return explained


def _resource_notes(scenario: Scenario, explained: Explained) -> list[str]:
    """Where the extended resources of a pod come from."""
    workload, resources = explained.workload, scenario.node_resources
    placed = explained.explanation.placed if explained.explanation is not None else None
    node = explained.bound if placed is None else placed.node
    notes = []
    for name in workload.extended_resources:
        known = workload.classes.get(name)
        if node and resources.provides(node, name):
            notes.append(f"{name} comes from the device plugin of {node}")
        elif known and allocation_of(workload.claims[-1]) is None:
            notes.append(
                f"{name} stands for devices of class {known}, for which kube-scheduler makes a claim itself"
            )
        elif not known and not resources.providing(name):
            off = "" if GATE in scenario.state.profile.gates else f" with the feature gate {GATE} off"
            notes.append(f"no DeviceClass stands for {name}{off}, and no node has it from a device plugin")
    return notes


def _unavailable(explanation: Explanation, rejected: Mapping[str, Sequence[Refusal]]) -> str:
    """What kube-scheduler says of a pod that fits on no node; of an unknown class it says only that."""
    if explanation.verdict != MISFIT or explanation.unknown_classes:
        return ""
    reasons = [reason for refusals in rejected.values() for reason in spoken(refusals)]
    reasons += [device_reason(answer.error) for answer in explanation.answers]
    return unavailable(len(rejected) + len(explanation.answers), reasons)


def _on_its_node(
    scenario: Scenario, workload: Workload, node: str, instead: Sequence[ClaimsOnNodes]
) -> Explained:
    """A pod that is on a node: with all that it needs, or never to be looked at by the scheduler."""
    claims = next((each.claims for each in instead if node in each.nodes), workload.claims)
    if any(allocation_of(claim) is None for claim in claims):
        known = scenario.snapshot.nodes.get(node)
        return Explained(workload, None, passed_over(node, node if known is None else host_name(known)))
    explained = Explained(workload, None, bound=node)
    explained.resource_notes = _resource_notes(scenario, explained)
    return explained
