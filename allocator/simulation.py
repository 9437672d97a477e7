"""Pods placed one after the other in a cluster that exists only here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from allocator.answers import NodeAnswer
from allocator.best_fit import Rank
from allocator.errors import GAVE_UP
from allocator.fitting.waste import Waste
from allocator.pod_nodes import host_name, named_node, passed_over
from allocator.scheduling import Mode, SchedulingState
from allocator.scheduling_outcome import SchedulingOutcome
from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
from resourceapi.objects import Object

MODES = {Mode.FIRST_FIT.value: Mode.ATTEMPT, Mode.BEST_FIT.value: Mode.BEST_FIT}
"""The objectives to choose from, by name."""


class Pod(NamedTuple):
    """A pod: its claims (v1, normal form) by full name, its `spec` (JSON), and the nodes that its spec excludes."""

    name: str
    claims: Mapping[str, Object]
    closed: frozenset[str] = frozenset()
    spec: Mapping[str, Any] = MappingProxyType({})


class Placement(NamedTuple):
    """Where a pod went: `node` is empty if nowhere, and `error` may say why.

    `results`: what its claims got, by their names, of those that it was the first to use. With a node, `error` is what may
    end attempts that come to another one first. `undecided`: whether the pod fits could not be found out.
    """

    pod: str
    node: str
    results: Mapping[str, Object]
    error: str = ""
    undecided: bool = False


class Limits(NamedTuple):
    """How long a simulation may take: all of it, and a single pod in seconds."""

    whole: TimeLimit = UNLIMITED
    pod: float = inf

    def of_pod(self) -> TimeLimit:
        """What the next pod may take."""
        return self.whole.part(self.pod)


UNHURRIED = Limits()


class Simulation:
    """Places pods in a cluster, which keeps what they hold until they are removed."""

    def __init__(
        self, cluster: SchedulingState, before: Simulation | None = None, limits: Limits = UNHURRIED
    ) -> None:
        """`before`: has placed other pods in the cluster, with which these may share claims."""
        self.cluster = cluster
        self.limits = limits
        self._before = before
        #: claims of pods with what they have been allocated
        self._claims: dict[str, Object] = {}
        self._held: set[str] = set()

    def run(self, pods: Iterable[Pod], mode: Mode) -> list[Placement]:
        """Place pods in this order."""
        return [self.place(pod, mode) for pod in pods]

    def place(self, pod: Pod, mode: Mode) -> Placement:
        """Place a pod, if it fits anywhere and there is time to find out."""
        claims = [self._claim(name, claim) for name, claim in pod.claims.items()]
        new = [name for name, claim in zip(pod.claims, claims, strict=True) if not _is_allocated(claim)]
        if new and (node := named_node(pod.spec)):
            known = self.cluster.nodes.get(node)
            return Placement(pod.name, "", {}, passed_over(node, node if known is None else host_name(known)))
        self.cluster.time_limit = self.limits.of_pod()
        try:
            answer = self.cluster.place(claims, mode, closed=pod.closed)
        except OutOfTime:
            return Placement(pod.name, "", {}, self._out_of_time(), undecided=True)
        error = "" if answer.error is None else _error(answer.error)
        if not answer.placed:
            undecided = answer.outcome is SchedulingOutcome.UNDECIDED
            return Placement(pod.name, "", {}, GAVE_UP if undecided else error, undecided)
        self._held.update(new)
        results = {name: self._claims[name]["status"]["allocation"] for name in new}
        return Placement(pod.name, answer.placed, results, error)

    def _out_of_time(self) -> str:
        if self.limits.whole.is_over:
            return "the time for all pods was over before it was decided whether it fits"
        return f"not decided within {self.limits.pod:g} seconds whether it fits"

    def weigh(self, pod: Pod) -> tuple[Rank, Waste] | None:
        """Rank and waste of what the pod would get now; None if it does not fit, or there is no time to find out."""
        claims = [self._claim(name, claim) for name, claim in pod.claims.items()]
        if named_node(pod.spec) and not all(map(_is_allocated, claims)):
            return None
        self.cluster.time_limit = self.limits.of_pod()
        try:
            return self.cluster.weigh(claims, pod.closed)
        except OutOfTime:
            return None

    def reset(self) -> None:
        """Remove all pods."""
        for name in self._held:
            self.cluster.release(self._claims[name])
        self._held.clear()
        self._claims.clear()

    def remove(self, placement: Placement) -> None:
        """Remove a pod that shares no claims with others."""
        for name in placement.results:
            self.cluster.release(self._claims[name])
            self._held.discard(name)

    def restore(self, placement: Placement) -> None:
        """Put a pod that has been removed where it was."""
        for name, allocation in placement.results.items():
            self._claims[name]["status"]["allocation"] = allocation
            self.cluster.hold(self._claims[name])
            self._held.add(name)

    def allocated(self, name: str) -> Object | None:
        """The claim of this name, if a pod has got devices for it."""
        return self._claims[name] if name in self._held else None

    def _claim(self, name: str, claim: Object) -> Object:
        known = self._claims.get(name)
        if known is None and self._before is not None:
            known = self._before.allocated(name)
        if known is None:
            known = self._claims[name] = {**claim, "status": dict(claim.get("status") or {})}
        return known


def _is_allocated(claim: Object) -> bool:
    return claim["status"].get("allocation") is not None


def _error(answer: NodeAnswer) -> str:
    fix = f" ({answer.fix})" if answer.fix else ""
    return f"an error on {answer.node} fails the attempt: {answer.error}{fix}"
