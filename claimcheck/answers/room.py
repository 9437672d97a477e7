"""How many more pods or claims like a given one there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

from allocator.explaining.snapshot import Snapshot
from allocator.node_resources import NodeResources
from allocator.simulation import MODES, Limits, Simulation
from allocator.time_limit import TimeLimit
from claimcheck.answers.tried import pods_of, scheduling_state
from cluster.workloads import Workload
from resourceapi.records.claims import Claim

#: More than so many are not counted.
MOST_COPIES = 1_000
#: What is compared: kube-scheduler comes close to the first.
OBJECTIVES = ("first-fit", "best-fit")


class Room(NamedTuple):
    """How many fit, one after the other.

    :param order: the nodes that they get, in turn.
    :param is_all: whether no further one fits; otherwise there was no time, or they are :data:`MOST_COPIES`.
    :param reason: what kube-scheduler would say of the first that does not fit.
    """

    objective: str
    order: Sequence[str]
    is_all: bool
    reason: str


def room_for(
    snapshot: Snapshot, workload: Workload, resources: NodeResources, seconds: float
) -> Sequence[Room]:
    """Place copies of a workload with each objective until one does not fit.

    :param resources: what nodes have left beside devices.
    :param seconds: how long each objective may take.
    """
    like = alike(workload, MOST_COPIES)
    return [_placed(snapshot, like, resources, each, TimeLimit(seconds)) for each in OBJECTIVES]


def alike(workload: Workload, copies: int) -> Workload:
    """Copies of a workload that are all still to be placed, each with claims of its own."""
    like = copy(workload)
    like.claims = [_fresh(each) for each in workload.claims]
    like.from_templates = list(range(len(like.claims)))
    like.copies, like.running, like.gang = copies, [], None
    return like


def _placed(
    snapshot: Snapshot, workload: Workload, resources: NodeResources, objective: str, limit: TimeLimit
) -> Room:
    limits = Limits(limit)
    simulation = Simulation(scheduling_state(snapshot, resources), limits)
    nodes: list[str] = []
    for pod in pods_of(snapshot, workload, resources, limits, MOST_COPIES):
        placement = simulation.place(pod, MODES[objective])
        if not placement.node:
            decided = not placement.undecided
            why = placement.reason or placement.error
            return Room(objective, nodes, is_all=decided, reason=why if decided else "")
        nodes.append(placement.node)
    return Room(objective, nodes, is_all=False, reason="")


def _fresh(claim: Claim) -> Claim:
    """A claim that asks for the same and holds nothing; its name is nobody else's."""
    return claim.with_status({}).named(f"{claim.name}-like")
