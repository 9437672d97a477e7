"""Whom kube-scheduler evicts for a pod that finds too little CPU, memory and the like.

It looks at nodes that lack nothing but resources, and tries each without the pods of a lower priority. The claims of these keep their
devices while it tries, so that it evicts nobody for devices. PodDisruptionBudgets, by which it spares pods, are not looked at.

Source: Kubernetes, `pkg/scheduler/framework/preemption`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from allocator.explaining.finder import PREEMPTION, Remedy
from allocator.explaining.snapshot import Snapshot
from allocator.explaining.trials import Variation
from allocator.node_fit import PodOnNode
from allocator.node_resources import PodNeeds, Shortage
from allocator.pod_claims import ClaimsOnNodes
from allocator.pod_nodes import RESOURCES, Refusal
from allocator.scheduling import Mode
from allocator.time_limit import TimeLimit
from allocator.words import Words
from resourceapi.phrases import number
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod, importance

#: The most nodes that are tried, and the most pods that are named.
MAX_TRIED, MAX_NAMED = 16, 3
_NEVER = "Never"


class Preemption(NamedTuple):
    """What kube-scheduler can reach by evicting pods.

    :param remedy: the eviction that it chooses; None if none helps.
    :param is_up_to_devices: whether a node would do but for devices that pods of a lower priority keep.
    """

    remedy: Remedy | None
    is_up_to_devices: bool


def preemption(
    snapshot: Snapshot,
    claims: Sequence[Claim],
    pod: PodOnNode,
    rejected: Mapping[str, Sequence[Refusal]],
    lacking: Mapping[str, Sequence[Shortage]],
    others: Iterable[Pod],
    instead: Sequence[ClaimsOnNodes],
    time_limit: TimeLimit,
) -> Preemption:
    """What evictions do for a pod with a priority.

    :param pod: the pod as nodes see it; it has needs, and they have resources.
    :param rejected: the nodes on which kube-scheduler does not look for devices, and why.
    :param lacking: what other nodes lack for the pod together with the devices of its claims.
    :param others: the pods on nodes, with what they request.
    """
    priority, needs, resources = priority_of(pod.spec), pod.needs, pod.resources
    if priority is None or needs is None or resources is None:
        return Preemption(None, is_up_to_devices=False)
    short = {
        name: resources.shortages(name, needs)
        for name, reasons in rejected.items()
        if all(each.plugin == RESOURCES for each in reasons)
    }
    short.update({name: list(shortages) for name, shortages in lacking.items()})
    lower: dict[str, list[Pod]] = {
        name: [] for name, each in short.items() if all(one.wanted <= one.allocatable for one in each)
    }
    for each in others if lower else ():
        if each.priority < priority and each.node in lower:
            lower[each.node].append(each)
    pod = pod._replace(resources=resources.copy() if lower else resources)
    found: dict[str, list[Pod]] = {}
    is_up_to_devices = False
    for name in sorted(name for name, pods in lower.items() if pods)[:MAX_TRIED]:
        node = _Node(snapshot, claims, pod, name, instead, time_limit)
        victims = node.victims(lower[name])
        if victims:
            found[name] = victims
        elif not node.lacks_resources and any(each.claims for each in lower[name]):
            is_up_to_devices = True
    if not found:
        return Preemption(None, is_up_to_devices)
    best = min(found, key=lambda name: (*_cost(found[name]), name))
    return Preemption(_remedy(best, found[best], priority, claims), is_up_to_devices=False)


def priority_of(spec: Mapping[str, object]) -> int | None:
    """The priority with which a pod preempts others; None if it never does, or the API server has not filled it in."""
    priority = spec.get("priority")
    return priority if isinstance(priority, int) and spec.get("preemptionPolicy") != _NEVER else None


class _Node:
    """A node with fewer pods than it has; the resources of the pod change."""

    def __init__(
        self,
        snapshot: Snapshot,
        claims: Sequence[Claim],
        pod: PodOnNode,
        name: str,
        instead: Sequence[ClaimsOnNodes],
        time_limit: TimeLimit,
    ) -> None:
        assert pod.needs is not None
        assert pod.resources is not None
        self._snapshot = snapshot
        self._claims = claims
        self._name = name
        self._instead = instead
        self._time_limit = time_limit
        self._needs = pod.needs
        self._resources = pod.resources
        self._pod = pod

    @property
    def lacks_resources(self) -> bool:
        """Whether the pod finds too little of a resource."""
        return bool(self._resources.shortages(self._name, self._needs))

    def victims(self, lower: Iterable[Pod]) -> list[Pod]:
        """The pods of a lower priority that have to go, the most important first; none if that does not help either.

        All of them go, and come back in turn where there is room, the most important first.
        """
        ordered = sorted(lower, key=importance)
        for each in ordered:
            self._resources.give_back(self._name, PodNeeds(each.requests))
        if not self._fits():
            return []
        needed = []
        for each in ordered:
            self._resources.take(self._name, PodNeeds(each.requests))
            if not self._fits():
                self._resources.give_back(self._name, PodNeeds(each.requests))
                needed.append(each)
        return needed

    def _fits(self) -> bool:
        if self.lacks_resources:
            return False
        placed = self._snapshot.cluster.place(
            self._claims,
            Mode.FILTER,
            self._time_limit,
            self._name,
            instead=self._instead,
            on_node=self._pod,
        )
        return placed.nodes[0].fits


def _cost(victims: Sequence[Pod]) -> tuple[int, int, int]:
    """By which of two nodes kube-scheduler spares: the highest priority, the sum of all, the number."""
    return victims[0].priority, sum(each.priority + 2**31 for each in victims), len(victims)


def _remedy(node: str, victims: Sequence[Pod], priority: int, claims: Sequence[Claim]) -> Remedy:
    named = [_named(each) for each in victims[:MAX_NAMED]]
    more = len(victims) - len(named)
    who = ", ".join(named) + (f" and {more:,} more" if more else "")
    why = f"as it does for a priority of {priority:,}"
    how_many = number(len(victims), "pod")
    return Remedy(
        PREEMPTION,
        Words(
            f"once kube-scheduler has evicted {who}, {why}",
            f"once kube-scheduler has evicted {how_many} of a lower priority, {why}",
        ),
        ", ".join(each.key for each in victims),
        None,
        (node,),
        Variation(tuple(claims)),
    )


def _named(pod: Pod) -> str:
    with_claims = ", which uses devices" if pod.claims else ""
    return f"{pod.key} (priority {pod.priority:,}{with_claims})"
