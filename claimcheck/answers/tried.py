"""The pods of workloads as the allocator tries them, and the cluster once they are placed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import NamedTuple

from allocator.explaining.snapshot import Snapshot
from allocator.node_resources import NodeResources
from allocator.pod_nodes import ClosedNodes
from allocator.scheduling import SchedulingState
from allocator.simulation import Limits, Placement, Pod
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers.scenario import Scenario
from cluster.workloads import Workload
from resourceapi.records.claims import Claim

#: The most pods of one workload.
MAX_COPIES = 10_000
#: The most pods of all workloads with their claims, of which each pod may have thousands; but for one pod of each workload.
MAX_OBJECTS = 100_000


class Tried(NamedTuple):
    """A pod that has been tried: that of its workload with a number."""

    workload: Workload
    number: int
    pod: Pod

    def alone(self, allocated: Mapping[str, Claim]) -> Workload:
        """Its workload with the claims of this pod.

        :param allocated: claims that have got devices meanwhile.
        """
        workload = copy(self.workload)
        claims = workload.claims_of_copy(self.number)
        workload.claims = [allocated.get(claim.key, claim) for claim in claims]
        return workload


#: A pod with what it got.
Placed = tuple[Tried, Placement]


def pods_of(
    snapshot: Snapshot, workload: Workload, resources: NodeResources, limits: Limits, end: int = MAX_COPIES
) -> Iterator[Pod]:
    """The pods of a workload that are on no node yet; late if there is no time to find out which nodes they exclude.

    Each is made when it is asked for: it may have thousands of claims.

    :param end: the number of the first one that is left out.
    """
    closed: ClosedNodes | None = None
    with suppress(OutOfTime):
        closed = snapshot.exclusions.of(workload.pod_spec, limits.of_pod())
    alike = Pod(
        workload.title,
        {},
        frozenset() if closed is None else closed.names,
        workload.pod_spec,
        workload.needs if workload.is_pod else None,
        rejections={} if closed is None else closed.reasons,
        late=closed is None,
        gang=workload.gang,
        shared=workload.reserved_for_group,
    )
    for number in range(len(workload.running), min(workload.copies, end)):
        name = f"{workload.title}-{number}" if workload.copies > 1 else workload.title
        claims = {claim.key: claim for claim in workload.claims_of_copy(number)}
        instead = workload.claims_by_nodes(resources, number)
        containers = workload.containers_of_copy(number)
        yield alike._replace(name=name, claims=claims, instead=instead, containers=containers)


def ends_of(workloads: Sequence[Workload], allowed: Sequence[int]) -> list[int]:
    """Of each workload, how many pods are tried at most, those included that are on nodes.

    :param allowed: of each workload, for how many pods quotas allow the claims.
    """
    room, found = MAX_OBJECTS, []
    for each, copies in zip(workloads, allowed, strict=True):
        weight, running = 1 + len(each.claims), len(each.running)
        end = min(each.copies, copies, MAX_COPIES)
        if _can_be_tried(each):
            end = min(end, running + max(1, room // weight))
            room -= weight * max(0, end - running)
        found.append(end)
    return found


def tried_of(
    scenario: Scenario,
    workloads: Sequence[Workload],
    ends: Sequence[int],
    resources: NodeResources,
    limits: Limits,
) -> list[Tried]:
    """The pods of the workloads that can be tried, as many as there is room for.

    :param ends: of each workload, how many are tried at most.
    :param resources: what nodes have left beside devices.
    """
    found: list[Tried] = []
    for workload, end in zip(workloads, ends, strict=True):
        if _can_be_tried(workload):
            pods = pods_of(scenario.snapshot, workload, resources, limits, end)
            found += (Tried(workload, *each) for each in enumerate(pods, len(workload.running)))
    return found


def _can_be_tried(workload: Workload) -> bool:
    return not workload.problem and not workload.waits_for


def scheduling_state(snapshot: Snapshot, resources: NodeResources) -> SchedulingState:
    """The cluster of a snapshot, in which pods can be placed."""
    cluster = SchedulingState(
        snapshot.features,
        snapshot.nodes.values(),
        snapshot.classes,
        snapshot.inventory,  # which has read the slices
        resources.copy(),
    )
    for claim in snapshot.claims.values():
        cluster.hold(claim)
    return cluster


def allocated_to(tried: Sequence[Tried], placements: Sequence[Placement]) -> dict[str, Claim]:
    """The claims for which devices were found, by their keys."""
    found = {}
    for each, placement in zip(tried, placements, strict=True):
        name = placement.pod.rpartition("/")[2]
        for key, allocation in placement.results.items():
            user = each.workload.consumer(key, name).reference
            status = {"allocation": allocation, "reservedFor": [user]}
            found[key] = each.pod.claims[key].with_status(status)
    return found


def with_placed(
    scenario: Scenario, allocated: Iterable[Claim], resources: NodeResources, limit: TimeLimit
) -> Scenario:
    """The scenario with what placed pods hold.

    :param resources: what nodes have left beside devices.
    :raises OutOfTime: if patches of devices cannot be applied in time.
    """
    after = copy(scenario)
    after.snapshot = scenario.snapshot.with_allocated(allocated, limit)
    after.node_resources = resources
    return after


def withdrawn_by_gang(tried: Sequence[Tried], placements: Sequence[Placement]) -> dict[str, list[Placed]]:
    """Of each gang that is not placed, the pods that would fit, with what they would get."""
    found: dict[str, list[Placed]] = {}
    for each, placement in zip(tried, placements, strict=True):
        if placement.gang is not None and placement.withdrawn is not None:
            found.setdefault(placement.gang.name, []).append((each, placement.withdrawn))
    return found


def beside_fellows(
    scenario: Scenario, fellows: Sequence[Placed], limit: TimeLimit
) -> tuple[Scenario, dict[str, Claim]]:
    """The scenario with the pods of a gang that would fit, and the claims that these hold then.

    :raises OutOfTime: if patches of devices cannot be applied in time.
    """
    allocated = allocated_to(*zip(*fellows, strict=True))
    resources = scenario.node_resources.copy()
    for _, placement in fellows:
        if placement.needs is not None:
            resources.take(placement.node, placement.needs)
    return with_placed(scenario, allocated.values(), resources, limit), allocated
