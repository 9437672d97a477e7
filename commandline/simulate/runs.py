"""The simulation that ``claimcheck simulate`` reports."""

from __future__ import annotations

from collections.abc import Sequence

from allocator.explaining.changes import constraints_of
from allocator.explaining.snapshot import full_name, unknown_classes
from allocator.fitting.leftover import Leftover, leftover
from allocator.growing import Growth, Template, grow
from allocator.packing import pack
from allocator.pod_nodes import excluded
from allocator.scheduling import SchedulingState
from allocator.simulation import MODES, Limits, Placement, Pod, Simulation
from commandline.results import Failure
from commandline.scenario import Situation
from commandline.workloads import Asker

BATCH = "batch"
#: Pods of one workload at most.
MAX_COPIES = 10_000


class Run:
    """What came of placing all pods with one objective."""

    def __init__(self, objective: str, placements: Sequence[Placement], rest: Leftover) -> None:
        self.objective = objective
        self.placements = placements
        self.leftover = rest

    @property
    def placed(self) -> int:
        return sum(bool(each.node) for each in self.placements)

    @property
    def nodes_used(self) -> int:
        return len({each.node for each in self.placements if each.node})

    @property
    def undecided(self) -> list[Placement]:
        """Pods of which it could not be found out whether they fit."""
        return [each for each in self.placements if each.undecided]

    @property
    def left(self) -> list[Placement]:
        return [each for each in self.placements if not each.node]


class Report:
    """All runs, the first being the one that matters, and the new nodes that would help.

    `problems`: objects that cannot be simulated, with the reason. `unknown_classes`: that are named and not there.
    """

    def __init__(self, pods: Sequence[Pod], failures: Sequence[Failure]) -> None:
        self.pods = pods
        self.failures = failures
        self.problems: list[tuple[str, str]] = []
        self.unknown_classes: list[str] = []
        self.runs: list[Run] = []
        self.growth: Growth | None = None

    @property
    def undecided(self) -> bool:
        """Whether it could not be found out of each pod if it fits."""
        return any(run.undecided for run in self.runs) or not (self.growth is None or self.growth.complete)

    @property
    def all_placed(self) -> bool:
        """Whether the last run, or the best way with new nodes, places all pods."""
        if self.growth is not None and self.growth.ways:
            return not self.growth.ways[0].left
        return not self.runs[-1].left


def simulate(
    situation: Situation,
    objectives: Sequence[str],
    *,
    batch: bool,
    templates: Sequence[Template],
    limits: Limits,
) -> Report:
    """Place all pods with each objective, each time in the cluster as it is now; all that within one limit of time."""
    pods = [pod for asker in situation.askers if not asker.problem for pod in _pods(situation, asker)]
    report = Report(pods, situation.failures)
    report.problems = [
        (asker.title, problem) for asker in situation.askers if (problem := asker.problem or _excess(asker))
    ]
    asked = [claim for asker in situation.askers for claim in asker.claims]
    report.unknown_classes = unknown_classes(situation.world, situation.world.demand(asked))
    attributes = _constraint_attributes(pods)
    for objective in [*objectives, *([BATCH] if batch else [])]:
        cluster = _cluster(situation)
        simulation = Simulation(cluster, limits=limits)
        found = pack(simulation, pods) if objective == BATCH else simulation.run(pods, MODES[objective])
        rest = leftover(cluster.pools(), cluster.allocated, attributes)
        report.runs.append(Run(objective, found, rest))
    if templates:
        report.growth = grow(
            lambda: _cluster(situation), pods, templates, MODES[objectives[0]], limits=limits
        )
    return report


def _cluster(situation: Situation) -> SchedulingState:
    world = situation.world
    cluster = SchedulingState(world.features, world.nodes.values(), world.classes, world.slices.values())
    for claim in world.claims.values():
        cluster.hold(claim)
    return cluster


def _pods(situation: Situation, asker: Asker) -> list[Pod]:
    closed = frozenset(excluded(asker.pod_spec, situation.world.nodes.values()))
    pods = []
    for number in range(min(asker.copies, MAX_COPIES)):
        name = f"{asker.title}-{number}" if asker.copies > 1 else asker.title
        claims = {full_name(claim): claim for claim in asker.claims_of_copy(number)}
        pods.append(Pod(name, claims, closed, asker.pod_spec))
    return pods


def _excess(asker: Asker) -> str:
    return f"only {MAX_COPIES} of its {asker.copies} pods are simulated" if asker.copies > MAX_COPIES else ""


def _constraint_attributes(pods: Sequence[Pod]) -> list[str]:
    """The attributes by which claims want devices to be together."""
    return sorted(
        {
            constraint["matchAttribute"]
            for pod in pods
            for claim in pod.claims.values()
            for constraint in constraints_of(claim)
            if constraint.get("matchAttribute")
        }
    )
