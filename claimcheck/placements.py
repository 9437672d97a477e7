"""Where pods would be placed, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from allocator.simulation import MODES, Limits
from allocator.time_limit import POD_SECONDS, TimeLimit
from claimcheck.answers import simulate as answers
from claimcheck.answers.scenario import SECONDS_IN_ALL
from claimcheck.inputs import Objects, values_in
from resourceapi.errors import Unanswerable
from resourceapi.records.claims import Allocation

if TYPE_CHECKING:
    import allocator.simulation
    from claimcheck.clusters import Cluster

Objective = Literal["kube-scheduler", "first-fit", "best-fit"]


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """A device that a claim, ``namespace/name``, has been given, with the request that it is for."""

    claim: str
    request: str
    driver: str
    pool: str
    device: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a pod would be placed.

    - ``pod``: ``Pod default/train``, or ``Job default/train-0`` for the first pod of a Job.
    - ``node``: empty if it would not be placed.
    - ``devices``: what its claims get, of those that no pod before it has used.
    - ``reason``: why it is not placed, in kube-scheduler's words where it has some; empty if it is.
    - ``undecided``: whether there was no time to find out.
    """

    pod: str
    node: str
    devices: tuple[AllocatedDevice, ...]
    reason: str = ""
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Simulation:
    """All pods, in their order, and what has been checked to place them, in sentences."""

    placements: tuple[Placement, ...]
    notes: tuple[str, ...] = ()

    @property
    def placed(self) -> list[Placement]:
        """The pods that are placed."""
        return [each for each in self.placements if each.node]

    @property
    def left(self) -> list[Placement]:
        """The pods that are not placed."""
        return [each for each in self.placements if not each.node]


def simulate(
    pods: Objects,
    cluster: Cluster,
    *,
    objective: Objective = "kube-scheduler",
    timeout: float = SECONDS_IN_ALL,
) -> Simulation:
    """Place pods one after the other, each beside those before it. The cluster stays as it is.

    :param pods: pods, workloads, claims, and what they refer to; a Deployment or Job counts as its number of pods.
    :param objective: how nodes are chosen: as ``kube-scheduler`` does, ``first-fit`` for the first one, or ``best-fit`` to waste least.
    :param timeout: for all of them together, in seconds; each takes 20 s at most.
    :raises ClaimcheckError: if objects cannot be read or are refused, or nothing requests devices.
    """
    if objective not in MODES:
        raise Unanswerable(f"objective: expected one of {', '.join(MODES)}, found {objective!r}")
    with cluster.lock:
        scenario = cluster.scenario(list(values_in(pods, cluster.profile)))
        limits = Limits(TimeLimit(timeout), POD_SECONDS)
        report = answers.simulate(scenario, [objective], batch=False, templates=(), limits=limits)
    if report.problems:
        title, problem = report.problems[0]
        raise Unanswerable(f"{title}: {problem}")
    waiting = [Placement(each.workload.title, "", (), each.said) for each in report.waiting]
    placed = [_placement(each) for each in report.runs[0].placements]
    return Simulation((*placed, *waiting), tuple(report.checked))


def _placement(placement: allocator.simulation.Placement) -> Placement:
    reason = "" if placement.node else placement.error or placement.reason
    return Placement(
        placement.pod, placement.node, devices_of(placement.results), reason, placement.undecided
    )


def devices_of(allocations: Mapping[str, Mapping[str, Any]]) -> tuple[AllocatedDevice, ...]:
    """The devices in allocations, by the names of their claims."""
    return tuple(
        AllocatedDevice(claim, each.request, *each.device)
        for claim, allocation in allocations.items()
        for each in Allocation(dict(allocation)).results
    )
