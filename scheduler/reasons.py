"""Why nodes are refused, in a few words that kube-scheduler shows in the pod's condition PodScheduled and in events.

It adds up nodes with the same words. Words that change are a change of the pod, which is then filtered again: so they have no
numbers that move.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from allocator.allocated import AllocatedState
from allocator.devices import DeviceId
from allocator.explaining.shortfalls import Shortfalls
from allocator.features import Features
from allocator.inventory import Inventory
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.selection import Selectors
from allocator.time_limit import OutOfTime, TimeLimit
from resourceapi.objects import Object
from scheduler.cluster_picture import ClusterPicture
from scheduler.pod_claims import ClaimOfPod

#: On so many nodes it is found out what is in the way; on the others it is said that the claims do not fit.
MOST_NODES = 200
SECONDS = 0.1


class _Seen(NamedTuple):
    features: Features
    nodes: Mapping[str, Object]
    inventory: Inventory
    allocated: AllocatedState
    holders: Mapping[DeviceId, list[str]]


def shortfalls(picture: ClusterPicture, claims: Sequence[ClaimOfPod], nodes: Sequence[str]) -> dict[str, str]:
    """What nodes lack for the claims of a pod, as far as there is time; for those who hold the picture's lock.

    :param nodes: those on which the allocator found nothing.
    """
    state = picture.state
    seen = _Seen(picture.features, state.nodes, state.inventory, state.allocated, {})
    limit = TimeLimit(SECONDS)
    outcomes = SelectorOutcomes(Selectors(limit), limit)
    demand = state.demand([each.claim for each in claims if not each.is_allocated])
    shortfalls = Shortfalls(seen, demand, outcomes)
    found: dict[str, str] = {}
    for node in nodes[:MOST_NODES]:
        try:
            limit.check()
            found[node] = shortfalls.on(node)
        except OutOfTime:
            break
    return found
