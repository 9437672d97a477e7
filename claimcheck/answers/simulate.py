"""Simulates the pods of a scenario: a run per objective, and the new nodes that would help."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from allocator.expansion import Expansion, Template, expand
from allocator.explaining.snapshot import unknown_classes
from allocator.fitting.fragmentation import Fragmentation, fragmentation
from allocator.packing import pack
from allocator.simulation import MODES, Limits, Placement, Pod, Simulation
from allocator.time_limit import POD_SECONDS, OutOfTime, TimeLimit
from claimcheck.answers.claim_quotas import grants
from claimcheck.answers.outcome import Failure
from claimcheck.answers.scenario import Scenario
from claimcheck.answers.tried import Tried, ends_of, scheduling_state, tried_of
from claimcheck.answers.unplaced import Unplaced, unplaced
from cluster.workloads import Workload
from resourceapi.phrases import number

BATCH = "batch"


class Run(NamedTuple):
    """All pods placed with one objective, and what is left of the devices, None if there was no time to find out."""

    objective: str
    placements: Sequence[Placement]
    fragmentation: Fragmentation | None

    @property
    def placed(self) -> int:
        """The number of pods on a node."""
        return sum(bool(each.node) for each in self.placements)

    @property
    def nodes_used(self) -> int:
        """The number of nodes with at least one of the pods."""
        return len({each.node for each in self.placements if each.node})

    @property
    def undecided(self) -> list[Placement]:
        """The pods that were not decided within their time limit."""
        return [each for each in self.placements if each.undecided]

    @property
    def left(self) -> list[Placement]:
        """The pods that are not placed."""
        return [each for each in self.placements if not each.node]


class Waiting(NamedTuple):
    """A workload with pods that kube-scheduler does not look at.

    :param missing: what they wait for: claims, templates, a PodGroup, the removal of gates, quota.
    :param pods: how many of its pods.
    """

    workload: Workload
    missing: str
    pods: int

    @property
    def said(self) -> str:
        """What it or some of its pods wait for."""
        if self.pods == self.workload.copies:
            return f"waits for {self.missing}"
        verb = "waits" if self.pods == 1 else "wait"
        return f"{self.pods:,} of {number(self.workload.copies, 'pod')} {verb} for {self.missing}"


class Report(NamedTuple):
    """All runs, the first of which is reported in full, and the new nodes that would help.

    :param tried: the pods, in the order of the placements of each run.
    :param failures: what could not be read.
    :param checked: which of kube-scheduler's checks are made, in sentences.
    :param with_patches: whether patches have changed devices.
    :param problems: objects that cannot be simulated, with the reason.
    :param waiting: pods that wait for something else than nodes and devices.
    :param unknown_classes: classes that claims name and that do not exist.
    :param unplaced: the pods that the first run leaves, by reason.
    """

    tried: Sequence[Tried]
    failures: Sequence[Failure]
    checked: Sequence[str]
    with_patches: bool
    problems: Sequence[tuple[str, str]]
    waiting: Sequence[Waiting]
    unknown_classes: Sequence[str]
    runs: Sequence[Run]
    unplaced: Sequence[Unplaced] = ()
    expansion: Expansion | None = None

    @property
    def pods(self) -> Sequence[Pod]:
        """The pods as they were tried."""
        return [each.pod for each in self.tried]

    @property
    def undecided(self) -> bool:
        """Whether some pod or what is left was not found out in time, or the search for new nodes stopped early."""
        return any(run.undecided or run.fragmentation is None for run in self.runs) or not (
            self.expansion is None or self.expansion.complete
        )

    @property
    def all_placed(self) -> bool:
        """Whether the last run, or the best way with new nodes, places all pods."""
        if self.waiting:
            return False
        if self.expansion is not None and self.expansion.options:
            return not self.expansion.options[0].left
        return not self.runs[-1].left


def as_scheduled(scenario: Scenario, limit: TimeLimit) -> Report:
    """Place all pods as kube-scheduler would now.

    :param limit: how long everything may take; a pod has its usual time.
    """
    limits = Limits(limit, POD_SECONDS)
    return simulate(scenario, [next(iter(MODES))], batch=False, templates=(), limits=limits)


def simulate(
    scenario: Scenario,
    objectives: Sequence[str],
    *,
    batch: bool,
    templates: Sequence[Template],
    limits: Limits,
) -> Report:
    """Place all pods with each objective, each time in the cluster as it is now.

    :param batch: also place them in the order that places most.
    :param templates: the kinds of new nodes to try for pods that fit nowhere.
    :param limits: the time limits of everything together, and of each pod.
    """
    snapshot = scenario.snapshot
    workloads = [*scenario.fellows, *scenario.workloads]
    # Pods that are simulated may be in the cluster already.
    resources = scenario.state.node_resources(
        without={each.full_name for each in workloads if each.kind == "Pod"}
    )
    granted = grants(scenario.state, workloads)
    ends = ends_of(workloads, [each.copies for each in granted])
    tried = tried_of(scenario, workloads, ends, resources, limits)
    pods = [each.pod for each in tried]
    claims = [claim for workload in workloads for claim in workload.claims]
    unknown: Sequence[str] = ()
    with suppress(OutOfTime):
        unknown = unknown_classes(snapshot, snapshot.demand(claims, limits.whole))
    attributes = _constraint_attributes(pods)
    runs: list[Run] = []
    after = resources
    for objective in [*objectives, *([BATCH] if batch else [])]:
        cluster = scheduling_state(snapshot, resources)
        simulation = Simulation(cluster, limits)
        found = pack(simulation, pods) if objective == BATCH else simulation.run(pods, MODES[objective])
        left: Fragmentation | None = None
        with suppress(OutOfTime):
            left = fragmentation(cluster.pools(limits.whole), cluster.allocated, attributes)
        if not runs and cluster.resources is not None:
            after = cluster.resources
        runs.append(Run(objective, found, left))
    expansion = None
    if templates:
        expansion = expand(
            lambda: scheduling_state(snapshot, resources),
            pods,
            templates,
            MODES[objectives[0]],
            limits=limits,
        )
    return Report(
        tried,
        scenario.failures,
        scenario.checked(limits.whole),
        scenario.has_patched_devices,
        problems=[
            (each.title, problem)
            for each, end, grant in zip(workloads, ends, granted, strict=True)
            if (problem := each.problem or _excess(each, end, grant.copies))
        ],
        waiting=[
            Waiting(each, " and for ".join(waits), each.copies - (0 if each.lacks else grant.copies))
            for each, grant in zip(workloads, granted, strict=True)
            if (waits := [*(lack.text for lack in each.lacks), *filter(None, (grant.refusal,))])
        ],
        unknown_classes=unknown,
        runs=runs,
        unplaced=unplaced(scenario, tried, runs[0].placements, after, limits),
        expansion=expansion,
    )


def _excess(workload: Workload, end: int, allowed: int) -> str:
    if min(workload.copies, allowed) <= end:
        return ""
    return f"only {end:,} of its {workload.copies:,} pods are simulated"


def _constraint_attributes(pods: Sequence[Pod]) -> list[str]:
    """The attributes in matchAttribute constraints."""
    return sorted(
        {
            constraint.match
            for pod in pods
            for claim in pod.claims.values()
            for constraint in claim.devices.constraints
            if constraint.match
        }
    )
