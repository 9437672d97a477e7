"""Pods placed one after the other in a cluster that exists only here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from allocator.answers import NodeAnswer, PodAnswer
from allocator.best_fit import Rank
from allocator.errors import GAVE_UP
from allocator.fitting.waste import Waste
from allocator.gangs import Gang, together
from allocator.node_fit import ClaimFootprint, PodOnNode, with_footprints
from allocator.node_resources import NodeResources, PodNeeds
from allocator.pod_claims import ClaimsOnNodes
from allocator.pod_nodes import gets_devices_on_its_node, named_node, passed_over
from allocator.scheduling import Mode, SchedulingState
from allocator.scheduling_outcome import SchedulingOutcome, refused, unavailable
from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
from resourceapi.objects import Object
from resourceapi.records.claims import Claim

MODES = {
    Mode.PREFERRED.value: Mode.PREFERRED,
    Mode.FIRST_FIT.value: Mode.ATTEMPT,
    Mode.BEST_FIT.value: Mode.BEST_FIT,
}
"""The objectives to choose from, by name."""


class Pod(NamedTuple):
    """A pod: its claims by full name, its `spec` (JSON), and the nodes that its spec excludes.

    :param needs: what it needs beside devices; None for claims without a pod.
    :param instead: what it claims on some nodes instead: the same claims but for the last one.
    :param rejections: for messages, what kube-scheduler says of the nodes that its spec excludes.
    :param late: whether there was no time to find out which nodes its spec excludes.
    :param gang: the pods that it is placed with.
    :param containers: those of its containers that use each claim.
    :param shared: the entry of `status.reservedFor` of each claim that is not reserved for the pod itself, but for its PodGroup.
    """

    name: str
    claims: Mapping[str, Claim]
    closed: frozenset[str] = frozenset()
    spec: Mapping[str, Any] = MappingProxyType({})
    needs: PodNeeds | None = None
    instead: Sequence[ClaimsOnNodes] = ()
    rejections: Mapping[str, Sequence[str]] = MappingProxyType({})
    late: bool = False
    gang: Gang | None = None
    containers: Mapping[str, Sequence[str]] = MappingProxyType({})
    shared: Mapping[str, Object] = MappingProxyType({})


class Placement(NamedTuple):
    """Where a pod went: `node` is empty if nowhere, and `error` may say why.

    `results`: what its claims got, by their names, of those that it was the first to use. With a node, `error` is what may
    end attempts that come to another one first. `undecided`: whether the pod fits could not be found out.
    `needs`: what it takes of the node beside devices. `reason`: what kube-scheduler says of a pod that fits nowhere.
    `equal`: other nodes that kube-scheduler may choose as well, since they have the same score.
    `gang`: what it is placed with. `withdrawn`: where it would be, had enough pods of its gang been placed. `untried`: whether
    it was not looked at, as its gang has too few pods, or there was an error before its turn.
    """

    pod: str
    node: str
    results: Mapping[str, Object]
    error: str = ""
    undecided: bool = False
    needs: PodNeeds | None = None
    footprints: Sequence[ClaimFootprint] = ()
    reason: str = ""
    equal: tuple[str, ...] = ()
    gang: Gang | None = None
    withdrawn: Placement | None = None
    untried: bool = False


def _nothing() -> None:
    """Do nothing."""


class Limits(NamedTuple):
    """How long a simulation may take: all of it, and a single pod in seconds; `begin` is called with each pod."""

    whole: TimeLimit
    pod: float = inf
    begin: Callable[[], None] = _nothing

    def of_pod(self) -> TimeLimit:
        """What the next pod may take."""
        return self.whole.part(self.pod)


UNHURRIED = Limits(UNLIMITED)


class Simulation:
    """Places pods in a cluster, which keeps what they hold until they are removed."""

    def __init__(
        self,
        cluster: SchedulingState,
        limits: Limits,
        before: Simulation | None = None,
        resources: NodeResources | None = None,
        nodes: Sequence[str] | None = None,
    ) -> None:
        """Begin with no pods.

        :param before: has placed other pods in the cluster, with which these may share claims.
        :param resources: what nodes have left beside devices, if the cluster does not know it.
        :param nodes: the only ones on which pods may be, if not all.
        """
        self.cluster = cluster
        self._nodes = nodes
        self._resources = cluster.resources if resources is None else resources
        self.limits = limits
        self._before = before
        #: claims of pods with what they have been allocated
        self._claims: dict[str, Claim] = {}
        self._held: set[str] = set()
        #: the claims that pods of a gang have got while others are tried
        self._pending: set[str] = set()
        #: pods with certain needs on nodes, and how many they are
        self._taken: dict[tuple[str, object], tuple[PodNeeds, int]] = {}
        #: the pods of gangs that are placed, by the names of these
        self._members: Counter[str] = Counter()

    def run(self, pods: Sequence[Pod], mode: Mode, *, is_brief: bool = False) -> list[Placement]:
        """Place pods in this order, those of a gang together.

        :param is_brief: whether it does not matter which pods of a gang fit of which too few do.
        """
        found: dict[int, Placement] = {}
        for places in together([pod.gang for pod in pods]):
            unit = [pods[place] for place in places]
            gang = unit[0].gang
            placed = (
                [self.place(unit[0], mode)]
                if gang is None
                else self._place_together(gang, unit, mode, is_brief=is_brief)
            )
            found.update(zip(places, placed, strict=True))
            self._pending.clear()
        return [found[place] for place in range(len(pods))]

    def _place_together(
        self, gang: Gang, pods: Sequence[Pod], mode: Mode, *, is_brief: bool
    ) -> list[Placement]:
        """Place the pods of a gang that fit, if they are enough, and else none."""
        scheduled, remaining = self.scheduled(gang), len(pods)
        if scheduled + remaining < gang.min_count:
            reason = f"waits for {gang.waits(scheduled + remaining)}"
            return [Placement(pod.name, "", {}, reason=reason, gang=gang, untried=True) for pod in pods]
        found: list[Placement] = []
        undecided, error, shortage, stop = 0, "", "", len(pods)
        for pod in pods:
            placement = self.place(pod, mode)
            found.append(placement)
            on_its_node = bool(named_node(pod.spec))
            remaining -= 1
            scheduled += bool(placement.node) or on_its_node
            # once the gang is bound, the others are tried again
            self._pending = self._pending | placement.results.keys() if scheduled < gang.min_count else set()
            undecided += placement.undecided
            if shortage:
                continue  # kube-scheduler has stopped; how many would fit is known only if all are tried
            if placement.error and not (placement.node or placement.undecided or on_its_node):
                error = placement.error
                break
            if scheduled + undecided + remaining < gang.min_count:
                shortage, stop = gang.shortage(scheduled, remaining), len(found)
                if is_brief:
                    break
        if scheduled >= gang.min_count and not (error or shortage):
            return found
        for placement in reversed(found):
            self.remove(placement)
        withdrawn = f"pod group is unschedulable, {shortage}" if shortage else ""
        why = Placement("", "", {}, error, undecided=not (error or shortage), gang=gang)
        answers = []
        for place, pod in enumerate(pods):
            tried = found[place] if place < len(found) else None
            if tried is not None and not tried.node and place < stop:
                answers.append(tried)
                continue
            answers.append(
                why._replace(
                    pod=pod.name,
                    reason=withdrawn if place < stop else shortage,
                    withdrawn=tried if tried is not None and tried.node else None,
                    untried=tried is None,
                )
            )
        return answers

    def without_half_gangs(self, placements: Sequence[Placement]) -> list[Placement]:
        """Take back pods that were placed one by one and are of gangs of which too few are on nodes."""
        half = {
            each.gang.name
            for each in placements
            if each.gang is not None and self.scheduled(each.gang) < each.gang.min_count
        }
        left = []
        for each in placements:
            if each.gang is not None and each.gang.name in half and each.node:
                self.remove(each)
                each = Placement(each.pod, "", {}, gang=each.gang, withdrawn=each)
            left.append(each)
        return left

    def scheduled(self, gang: Gang) -> int:
        """How many pods of a gang are on nodes."""
        before = self._before._members[gang.name] if self._before is not None else 0
        return gang.running + self._members[gang.name] + before

    def place(self, pod: Pod, mode: Mode) -> Placement:
        """Place a pod by itself, if it fits anywhere and there is time to find out."""
        placement = self._placed(pod, mode)
        if pod.gang is None:
            return placement
        self._members[pod.gang.name] += bool(placement.node)
        return placement._replace(gang=pod.gang)

    def _placed(self, pod: Pod, mode: Mode) -> Placement:
        self.limits.begin()
        if pod.late:
            return Placement(pod.name, "", {}, self._out_of_time(), undecided=True)
        claims = _Claims(pod, self._claim)
        if (node := named_node(pod.spec)) and claims.are_new(node) and not gets_devices_on_its_node(pod.spec):
            known = self.cluster.nodes.get(node)
            host = node if known is None else known.host_name
            return Placement(pod.name, "", {}, passed_over(pod.spec, host))
        try:
            answer = self.cluster.place(
                claims.elsewhere,
                mode,
                self.limits.of_pod(),
                instead=claims.instead,
                on_node=self._on_node(pod),
                among=self._nodes,
            )
        except OutOfTime:
            return Placement(pod.name, "", {}, self._out_of_time(), undecided=True)
        error = "" if answer.error is None else _error(answer.error)
        if not answer.placed:
            undecided = answer.outcome is SchedulingOutcome.UNDECIDED
            # of a pod that names its node, kube-scheduler says nothing
            reason = "" if error or undecided or node else self._reason(answer)
            return Placement(pod.name, "", {}, GAVE_UP if undecided else error, undecided, reason=reason)
        results = {
            name: answer.allocated[claim]
            for name, claim in claims.on(answer.placed).items()
            if claim.allocation is None
        }
        self._keep(pod.name, claims.on(answer.placed), results, pod.shared)
        needs = None if pod.needs is None else with_footprints(pod.needs, answer.footprints)
        self._take(answer.placed, needs)
        return Placement(
            pod.name,
            answer.placed,
            results,
            error,
            needs=needs,
            footprints=answer.footprints,
            equal=answer.equal,
        )

    # --- what nodes have beside devices

    def _on_node(self, pod: Pod) -> PodOnNode:
        resources, name = self._resources, pod.name
        return PodOnNode(
            pod.spec,
            pod.needs,
            resources,
            pod.closed,
            pod.rejections,
            pod.containers,
            name,
            pending=frozenset(self._pending),
        )

    def _take(self, node: str, needs: PodNeeds | None, count: int = 1) -> None:
        """Count a pod on a node; with `count` -1, it does not count any more."""
        resources = self._resources
        if resources is None or needs is None:
            return
        (resources.take if count > 0 else resources.give_back)(node, needs)
        key = (node, needs.key)
        self._taken[key] = (needs, self._taken.get(key, (needs, 0))[1] + count)

    def _reason(self, answer: PodAnswer) -> str:
        """What kube-scheduler says of a pod that fits on no node."""
        if answer.refusal:
            return refused(len(self.cluster.nodes), answer.refusal)
        return unavailable(len(self.cluster.nodes), answer.reasons)

    def _out_of_time(self) -> str:
        if self.limits.whole.is_over:
            return "the time for all pods was over before it was decided whether it fits"
        return f"not decided within {self.limits.pod:g} seconds whether it fits"

    def weigh(self, pod: Pod) -> tuple[Rank, Waste] | None:
        """Rank and waste of what the pod would get now; None if it does not fit, or there is no time to find out."""
        claims = _Claims(pod, self._claim)
        if pod.late or ((node := named_node(pod.spec)) and claims.are_new(node)):
            return None
        try:
            return self.cluster.weigh(
                claims.elsewhere, self.limits.of_pod(), claims.instead, self._on_node(pod), self._nodes
            )
        except OutOfTime:
            return None

    def reset(self) -> None:
        """Remove all pods."""
        for name in self._held:
            self.cluster.release(name)
        self._held.clear()
        self._claims.clear()
        for (node, _), (needs, count) in list(self._taken.items()):
            for _ in range(count):
                self._take(node, needs, -1)
        self._taken.clear()
        self._members.clear()

    def remove(self, placement: Placement) -> None:
        """Remove a pod that shares no claims with others that stay."""
        for name in placement.results:
            self.cluster.release(name)
            self._held.discard(name)
        if placement.node:
            self._take(placement.node, placement.needs, -1)
            self._count(placement, -1)

    def _count(self, placement: Placement, count: int) -> None:
        if placement.gang is not None:
            self._members[placement.gang.name] += count

    def restore(self, placement: Placement) -> None:
        """Put a pod that has been removed where it was."""
        users = {name: self._claims[name].consumers[0].reference for name in placement.results}
        self._keep(placement.pod, self._claims, placement.results, users)
        for name in placement.results:
            self.cluster.hold(self._claims[name])
        if placement.node:
            self._take(placement.node, placement.needs)
            self._count(placement, 1)

    def kinds_of_nodes(self) -> list[list[str]]:
        """The nodes on which pods may be, those together that serve claims alike."""
        return self.cluster.alike(self.cluster.nodes if self._nodes is None else self._nodes)

    def allocated(self, name: str) -> Claim | None:
        """The claim of this name, if a pod has got devices for it."""
        return self._claims[name] if name in self._held else None

    def _keep(
        self,
        pod: str,
        claims: Mapping[str, Claim],
        results: Mapping[str, Object],
        shared: Mapping[str, Object],
    ) -> None:
        for name, allocation in results.items():
            self._claims[name] = claims[name].allocated(allocation).reserved_for(pod, shared.get(name))
            self._held.add(name)

    def _claim(self, name: str, claim: Claim) -> Claim:
        return self.allocated(name) or (self._before and self._before.allocated(name)) or claim


class _Claims:
    """The claims of a pod with what they have been allocated, as a cluster is asked for them."""

    def __init__(self, pod: Pod, known: Callable[[str, Claim], Claim]) -> None:
        """`known`: the claim as pods before it have left it."""
        self._names = list(pod.claims)
        self.elsewhere = [known(name, claim) for name, claim in pod.claims.items()]
        # The last claim, which kube-scheduler makes, is nobody else's.
        self.instead = [
            each._replace(claims=[*self.elsewhere[:-1], *each.claims[len(self._names) - 1 :]])
            for each in pod.instead
        ]

    def on(self, node: str) -> dict[str, Claim]:
        """What the pod claims on a node, by name."""
        claims = next((each.claims for each in self.instead if node in each.nodes), self.elsewhere)
        return dict(zip(self._names, claims, strict=False))

    def are_new(self, node: str) -> bool:
        """Whether devices would be allocated to any of its claims on a node."""
        return any(each.allocation is None for each in self.on(node).values())


def _error(answer: NodeAnswer) -> str:
    fix = f" ({answer.fix})" if answer.fix else ""
    return f"an error on {answer.node} fails the attempt: {answer.error}{fix}"
