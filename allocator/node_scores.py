"""Which of the nodes that fit a pod kube-scheduler chooses: the one for which the scores of its plugins add up to most.

Scored as its default profile does: DynamicResources (which alternatives the claims would get, KEP-4816), NodeResourcesFit
(`LeastAllocated`), NodeResourcesBalancedAllocation, NodeAffinity (preferred terms) and TaintToleration (`PreferNoSchedule`).
PodTopologySpread, InterPodAffinity and ImageLocality score as well, by pods and images, and are left out. For pods of the
scheduling sidecar, its scores take the place of DynamicResources.

KEP-4816 gives a request 8 points for the first alternative of its list (`firstAvailable`) and 1 for the eighth, and spreads
the sums of the nodes from 0 (worst) to 100 (best). kube-scheduler 1.37.1 does otherwise: 100 times the sum over the highest
sum. An extender gives scores from 0 to 10, which kube-scheduler takes times 10 and times the extender's weight.

Of nodes with equal scores it takes any: up to 1.34 it draws, later it depends on which of its 16 workers has looked at its node
first. Here it is the first of them, in the order of nodes.
Source: kube-scheduler 1.34.4 to 1.37.1, `pkg/scheduler/framework/plugins`, and the nodes that it has chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from allocator.node_resources import Load, NodeResources, PodNeeds
from allocator.pod_nodes import PREFERRED, SIDECAR, tolerated
from allocator.scheduling_outcome import feasible_nodes
from allocator.time_limit import UNLIMITED, TimeLimit
from resourceapi.limits import SUBREQUESTS
from resourceapi.manifests import entries, mapping
from resourceapi.node_selection import selects
from resourceapi.records.nodes import Node

#: The highest scores of a plugin, and of an extender.
MAX_SCORE, MAX_EXTENDER_SCORE = 100, 10
_DEVICES, _AFFINITY, _TAINTS = 2, 2, 3
"""The weights of plugins; those of the others are 1. The sidecar has that of DynamicResources."""


class Candidate(NamedTuple):
    """A node that fits.

    :param places: how far down its list each alternative is that the pod's claims would get there, 0 for the first.
    """

    node: str
    places: Sequence[int] = ()


class RawScores(NamedTuple):
    """What the plugins that score see in a node.

    :param points: for the alternatives that the pod's claims would get.
    :param preference: the weights of the terms of node affinity that select it.
    :param disliked: how many taints it has that the pod had better avoid.
    :param resources: the scores for what it has left of CPU and memory, which are final.
    :param of_sidecar: whether the sidecar scores the alternatives, as KEP-4816 says.
    """

    points: int
    preference: int
    disliked: int
    resources: int
    of_sidecar: bool = False


class Choice(NamedTuple):
    """The node that is chosen.

    :param place: its place among the candidates.
    :param equal: the other nodes that have the same score.
    """

    place: int
    equal: tuple[str, ...] = ()


class NodeScores:
    """Scores the nodes of a cluster for pods.

    :param nodes: the nodes by name.
    :param resources: what they have beside devices; None if that is not known.
    :param minor: the release of kube-scheduler.
    """

    def __init__(self, nodes: Mapping[str, Node], resources: NodeResources | None, minor: int) -> None:
        self._nodes = nodes
        self._resources = resources
        self._minor = minor

    def choose(
        self,
        pod_spec: Mapping[str, object],
        needs: PodNeeds | None,
        candidates: Sequence[Candidate],
        allocated: Sequence[int] = (),
        time_limit: TimeLimit = UNLIMITED,
    ) -> Choice:
        """The node that kube-scheduler chooses.

        :param pod_spec: the pod's `spec` (JSON); empty for claims without a pod.
        :param needs: what the pod needs beside devices; None for claims without a pod.
        :param candidates: the nodes that fit, at least one, in the order in which they are looked at. It chooses from the
            first of them only if they are very many.
        :param allocated: the places of the alternatives that the pod's claims have already.
        :raises OutOfTime: if the time is over; a pod may prefer nodes by thousands of terms.
        """
        candidates = candidates[: feasible_nodes(len(self._nodes))]
        scores = self.scores(pod_spec, needs, candidates, allocated, time_limit)
        most = max(scores)
        place = scores.index(most)
        equal = [each.node for each, score in zip(candidates, scores, strict=True) if score == most]
        return Choice(place, tuple(equal[1:]))

    def scores(
        self,
        pod_spec: Mapping[str, object],
        needs: PodNeeds | None,
        candidates: Sequence[Candidate],
        allocated: Sequence[int] = (),
        time_limit: TimeLimit = UNLIMITED,
    ) -> list[int]:
        """The scores of nodes, all plugins together; arguments as of :meth:`choose`."""
        raw = []
        for each in candidates:
            time_limit.check()
            raw.append(self.raw(pod_spec, needs, each, allocated))
        totals = self.totals(set(raw))
        return [totals[each] for each in raw]

    def raw(
        self,
        pod_spec: Mapping[str, object],
        needs: PodNeeds | None,
        candidate: Candidate,
        allocated: Sequence[int] = (),
    ) -> RawScores:
        """What the plugins see in a node before they compare it with others; arguments as of :meth:`choose`."""
        node = self._nodes.get(candidate.node) or Node(candidate.node)
        resources = 0
        if needs is not None and self._resources is not None and self._resources.are_known:
            resources = self._for_resources(self._resources.loads(candidate.node, needs))
        of_sidecar = pod_spec.get("schedulerName") == SIDECAR
        are_scored = of_sidecar or self._minor >= 35
        return RawScores(
            points_of((*allocated, *candidate.places)) if are_scored else 0,
            preference(pod_spec, node),
            _disliked_taints(pod_spec, node),
            resources,
            of_sidecar,
        )

    @staticmethod
    def totals(different: Collection[RawScores]) -> dict[RawScores, int]:
        """What the plugins' scores add up to, by what they see in nodes."""
        raw = list(different)
        devices = _for_alternatives(raw)
        preferences = normalized([each.preference for each in raw])
        disliked = normalized([each.disliked for each in raw])
        taints = [MAX_SCORE - each for each in disliked] if any(disliked) else disliked
        return {
            each: _DEVICES * devices[place]
            + _AFFINITY * preferences[place]
            + _TAINTS * taints[place]
            + each.resources
            for place, each in enumerate(raw)
        }

    def _for_resources(self, loads: Sequence[Load]) -> int:
        score = _least_allocated(loads)
        return score + (_balanced(loads, self._minor) if any(each.wanted for each in loads) else 0)


def points_of(places: Iterable[int]) -> int:
    """The points for alternatives, added up: 8 for the first of a list, 1 for the eighth."""
    return sum([SUBREQUESTS - place for place in places])


def kep_percent(places: Sequence[Sequence[int]], allocated: Sequence[int] = ()) -> list[int]:
    """The scores of KEP-4816, from 0 to 100; claims that are `allocated` already are not scored.

    :param places: for each node, those of the alternatives that the other claims would get.
    """
    return _spread([points_of(each) for each in places])


def _spread(points: Sequence[int]) -> list[int]:
    least, most = min(points, default=0), max(points, default=0)
    if least == most:
        return [0] * len(points)
    return [(each - least) * MAX_SCORE // (most - least) for each in points]


def _for_alternatives(raw: Sequence[RawScores]) -> list[int]:
    """The scores for alternatives: DynamicResources' own, or what the sidecar can say of those of KEP-4816."""
    points = [each.points for each in raw]
    if not any(each.of_sidecar for each in raw):
        return normalized(points)
    return [each * MAX_SCORE // MAX_EXTENDER_SCORE for each in in_tenths(_spread(points))]


def upstream_percent(places: Sequence[Sequence[int]], allocated: Sequence[int] = ()) -> list[int]:
    """The scores of kube-scheduler 1.37.1, from 0 to 100; claims that are `allocated` already count, too."""
    return normalized([points_of((*allocated, *each)) for each in places])


def in_tenths(percent: Sequence[int]) -> list[int]:
    """Scores from 0 to 100 as an extender can give them: tenths, rounded so that no better node is equal to a worse one.

    Up to 11 different scores stay different; of more, only the highest stays apart.
    """
    levels = sorted(set(percent))
    tenths = [(each * MAX_EXTENDER_SCORE + MAX_SCORE // 2) // MAX_SCORE for each in levels]
    if len(levels) <= MAX_EXTENDER_SCORE + 1:
        for upper in range(1, len(levels)):
            tenths[upper] = max(tenths[upper], tenths[upper - 1] + 1)
        limit = MAX_EXTENDER_SCORE
        for index in reversed(range(len(levels))):
            tenths[index] = limit = min(tenths[index], limit)
            limit -= 1
    else:
        tenths[:-1] = [min(each, tenths[-1] - 1) for each in tenths[:-1]]
    found = dict(zip(levels, tenths, strict=True))
    return [found[each] for each in percent]


def normalized(values: Sequence[int]) -> list[int]:
    """Values from 0 to 100, the highest of them 100 unless all are 0."""
    most = max(values, default=0)
    return [each * MAX_SCORE // most if most else 0 for each in values]


def preference(pod_spec: Mapping[str, object], node: Node) -> int:
    """How much a pod prefers a node by its node affinity: the weights of the terms that select it."""
    affinity = mapping(pod_spec, "affinity", "nodeAffinity")
    return sum(
        each.get("weight") or 0
        for each in entries(affinity, PREFERRED)
        if selects({"nodeSelectorTerms": [mapping(each, "preference")]}, node)
    )


def _disliked_taints(pod_spec: Mapping[str, object], node: Node) -> int:
    """How many taints a node has that the pod does not tolerate, but that do not close the node."""
    disliked = (taint for taint in node.taints if taint.effect == "PreferNoSchedule")
    return sum(not tolerated(pod_spec, taint) for taint in disliked)


def _least_allocated(loads: Iterable[Load]) -> int:
    """How much is left of CPU and memory, where a container that requests none counts as if it took a little."""
    found = [
        (each.allocatable - each.assumed) * MAX_SCORE // each.allocatable
        if each.assumed <= each.allocatable
        else 0
        for each in loads
        if each.allocatable
    ]
    return sum(found) // len(found) if found else 0


def _balanced(loads: Sequence[Load], minor: int) -> int:
    """How evenly CPU and memory are taken; since 1.36 how much more so than without the pod."""
    after = _evenness([(each.used + each.wanted, each.allocatable) for each in loads])
    if minor < 36:
        return after
    before = _evenness([(each.used, each.allocatable) for each in loads])
    half = MAX_SCORE // 2
    return half + (half + after - before) // 2


def _evenness(taken: Iterable[tuple[int, int]]) -> int:
    parts = [min(used / allocatable, 1.0) for used, allocatable in taken if allocatable]
    deviation = abs(parts[0] - parts[1]) / 2 if len(parts) == 2 else 0.0
    return int((1 - deviation) * MAX_SCORE)
