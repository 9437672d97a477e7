"""Remedies for pods that only lack CPU, memory and the like where their devices fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from allocator.explaining.finder import REQUESTS, Remedy
from allocator.explaining.snapshot import Snapshot
from allocator.explaining.trials import Variation
from allocator.node_fit import PodOnNode
from allocator.node_resources import PODS, PodNeeds, Shortage, written
from allocator.pod_claims import ClaimsOnNodes
from allocator.pod_nodes import RESOURCES, Refusal
from allocator.scheduling import Mode
from allocator.time_limit import TimeLimit
from allocator.words import NOTHING, Words, for_all
from resourceapi.records.claims import Claim

#: The most nodes that are tried, and the most remedies.
MAX_TRIED, MAX_REMEDIES = 16, 2


def lower_requests(
    snapshot: Snapshot,
    claims: Sequence[Claim],
    pod: PodOnNode,
    rejected: Mapping[str, Sequence[Refusal]],
    lacking: Mapping[str, Sequence[Shortage]],
    instead: Sequence[ClaimsOnNodes],
    time_limit: TimeLimit,
) -> Iterator[Remedy]:
    """The requests with which the pod would fit on nodes that lack nothing else, those that leave it most first.

    :param pod: the pod as nodes see it; it has needs, and they have resources.
    :param rejected: the nodes on which kube-scheduler does not look for devices, and why.
    :param lacking: what other nodes lack for the pod together with the devices of its claims.
    """
    offers: dict[str, Sequence[Shortage]] = {}
    fitting: list[str] = []
    assert pod.needs is not None
    assert pod.resources is not None
    short = {
        name: pod.resources.shortages(name, pod.needs)
        for name, reasons in rejected.items()
        if all(each.plugin == RESOURCES for each in reasons)
    }
    short |= {name: _beside_devices(shortages, pod.needs) for name, shortages in lacking.items()}
    for name in sorted(short, key=lambda name: -_part_left(short[name]))[:MAX_TRIED]:
        if _part_left(short[name]) <= 0:
            break
        lower = {each.resource: each.left for each in short[name]}
        on_node = pod._replace(needs=pod.needs._replace(requests={**pod.needs.requests, **lower}))
        answer = snapshot.cluster.place(
            claims, Mode.FILTER, time_limit, name, instead=instead, on_node=on_node
        )
        if answer.nodes[0].fits:
            fitting.append(name)
            offers.setdefault(" and ".join(map(_less, short[name])), short[name])
    for less, offer in list(offers.items())[:MAX_REMEDIES]:
        nodes = (name for name in fitting if serves(short[name], offer))
        yield Remedy(REQUESTS, for_all(f"with {less}"), less, None, tuple(nodes), Variation(tuple(claims)))


def _beside_devices(shortages: Sequence[Shortage], needs: PodNeeds) -> list[Shortage]:
    """What the node lacks for the pod's own requests once the devices of its claims have taken what they need."""
    return [
        Shortage(each.resource, own, each.used + each.wanted - own, each.allocatable)
        for each in shortages
        for own in [needs.requests.get(each.resource, 0)]
    ]


def less(shortages: Sequence[Shortage]) -> Words:
    """The requests that a node can serve which lacks something; nothing if it has nothing left."""
    return for_all(f"with {' and '.join(map(_less, shortages))}") if _part_left(shortages) > 0 else NOTHING


def serves(shortages: Sequence[Shortage], offer: Sequence[Shortage]) -> bool:
    """Whether a node has room for the requests that another can serve: it has as much left, or more.

    :param shortages: what the node lacks.
    :param offer: what the other lacks.
    """
    most = {each.resource: each.left for each in offer}
    return all(most.get(each.resource, each.wanted) <= each.left for each in shortages)


def _less(shortage: Shortage) -> str:
    """A request that a node can serve."""
    resource = shortage.resource
    most = written(resource, shortage.left)
    return f"a request for {resource} of {most} or less instead of {written(resource, shortage.wanted)}"


def _part_left(shortages: Sequence[Shortage]) -> float:
    """How much of what a pod wants a node has, of what it lacks most; a node without room for pods has nothing."""
    return min(
        0.0 if each.resource == PODS or not each.wanted else each.left / each.wanted for each in shortages
    )
