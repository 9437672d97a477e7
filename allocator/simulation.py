"""Pods placed one after the other in a cluster that exists only here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from allocator.answers import NodeAnswer
from allocator.bestfit import Rank
from allocator.devices import Object
from allocator.fitting.waste import Waste
from allocator.plans import FATAL
from allocator.scheduling import Cluster, Mode

MODES = {Mode.FIRST_FIT.value: Mode.FIRST_FIT, Mode.BEST_FIT.value: Mode.BEST_FIT}
"""The objectives to choose from, by name."""


class Pod(NamedTuple):
    """A pod: its claims (v1, normal form) by full name, its `spec` (JSON), and the nodes that are closed to it."""

    name: str
    claims: Mapping[str, Object]
    closed: frozenset[str] = frozenset()
    spec: Mapping[str, Any] = MappingProxyType({})


class Placement(NamedTuple):
    """Where a pod went: `node` is empty if nowhere, then `error` may say why. `results`: by claim, of those that it was
    the first to use."""

    pod: str
    node: str
    results: Mapping[str, Object]
    error: str = ""


class Simulation:
    """Places pods in a cluster, which keeps what they hold until they are removed."""

    def __init__(self, cluster: Cluster, before: Simulation | None = None) -> None:
        """`before`: has placed other pods in the cluster, with which these may share claims."""
        self.cluster = cluster
        self._before = before
        #: claims of pods with what they have been allocated
        self._claims: dict[str, Object] = {}
        self._held: set[str] = set()

    def run(self, pods: Iterable[Pod], mode: Mode) -> list[Placement]:
        """Place pods in this order."""
        return [self.place(pod, mode) for pod in pods]

    def place(self, pod: Pod, mode: Mode) -> Placement:
        """Place a pod, if it fits anywhere."""
        claims = [self._claim(name, claim) for name, claim in pod.claims.items()]
        new = [name for name, claim in zip(pod.claims, claims, strict=True) if not _is_allocated(claim)]
        answer = self.cluster.place(claims, mode, closed=pod.closed)
        if not answer.placed:
            return Placement(pod.name, "", {}, _error(answer.nodes))
        self._held.update(new)
        return Placement(
            pod.name, answer.placed, {name: self._claims[name]["status"]["allocation"] for name in new}
        )

    def weigh(self, pod: Pod) -> tuple[Rank, Waste] | None:
        """Rank and waste of what the pod would get now; None if it does not fit."""
        claims = [self._claim(name, claim) for name, claim in pod.claims.items()]
        return self.cluster.weigh(claims, pod.closed)

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


def _error(answers: Iterable[NodeAnswer]) -> str:
    return next((answer.error for answer in answers if answer.error_kind == FATAL), "")
