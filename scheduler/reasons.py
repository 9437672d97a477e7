"""Why nodes are refused, in a few words that kube-scheduler shows in the pod's condition PodScheduled and in events.

It adds up nodes with the same words. Words that change are a change of the pod, which is then filtered again: so they have no
numbers that move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from allocator.allocated import AllocatedState
from allocator.explaining.shortfalls import Shortfalls
from allocator.features import Features
from allocator.inventory import Inventory
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.scheduling_outcome import device_reason
from allocator.time_limit import OutOfTime, TimeLimit
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from resourceapi.records.pools import DeviceId
from scheduler.cluster_picture import ClusterPicture

#: On so many nodes that differ it is found out what is in the way; on the others it is said that the claims do not fit. A pod that
#: does not fit is asked about again and again, while the pods of others wait.
MOST_NODES = 32
SECONDS = 0.1
NOTHING_FOUND = device_reason("")


class _Seen(NamedTuple):
    features: Features
    nodes: Mapping[str, Node]
    inventory: Inventory
    allocated: AllocatedState
    holders: Mapping[DeviceId, list[str]]


def with_shortfalls(
    picture: ClusterPicture, claims: Sequence[Claim], reasons: Mapping[str, str]
) -> dict[str, str]:
    """Why the claims of a pod do not fit on nodes, with what is in the way where the allocator has found nothing.

    That is said as far as there is time to find it out; for those who hold the picture's lock.

    :param reasons: by node, what the allocator says.
    """
    nodes = [node for node, reason in reasons.items() if reason == NOTHING_FOUND]
    return {**reasons, **_shortfalls(picture, claims, nodes)} if nodes else dict(reasons)


def _shortfalls(picture: ClusterPicture, claims: Sequence[Claim], nodes: Sequence[str]) -> dict[str, str]:
    state = picture.state
    seen = _Seen(picture.features, state.nodes, state.inventory, state.allocated, {})
    limit = TimeLimit(SECONDS)
    found: dict[str, str] = {}
    try:
        demand = state.demand([each for each in claims if not each.is_allocated], limit)
        shortfalls = Shortfalls(seen, demand, SelectorOutcomes(limit, limit))
        for alike in state.alike(nodes)[:MOST_NODES]:
            found |= dict.fromkeys(alike, shortfalls.on(alike[0]))
    except OutOfTime:
        pass
    return found
