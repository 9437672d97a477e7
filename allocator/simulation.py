"""Pods placed one after the other in a cluster that exists only here, in order or in whatever order places most.

A batch is packed largest first: what costs most when nothing is there yet (`allocator.fitting.waste`) has the fewest places
to go. If pods are left over they move to the front and all are placed again, as long as there is time and it helps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from time import monotonic
from types import MappingProxyType
from typing import Any, NamedTuple

from allocator.answers import NodeAnswer
from allocator.bestfit import Rank
from allocator.devices import Object
from allocator.fitting.waste import Waste
from allocator.plans import FATAL
from allocator.scheduling import Cluster, Mode

#: How long a batch is packed anew, in seconds, and how often without success.
BATCH_SECONDS, BATCH_ROUNDS = 10.0, 200

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

    def batch(self, pods: Sequence[Pod], seconds: float = BATCH_SECONDS) -> list[Placement]:
        """Place as many pods as can be found out within the time, which is for packing anew; in the order of `pods`."""
        end = monotonic() + seconds
        order = sorted(range(len(pods)), key=self._costs(pods).__getitem__, reverse=True)
        best = found = self._attempt(pods, order)
        kept = list(order)
        if _missing(best):
            found = self._attempt(pods, range(len(pods)))
            if _missing(found) < _missing(best):
                best, kept, order = found, list(range(len(pods))), list(range(len(pods)))
        random = Random(len(pods))
        for _ in range(BATCH_ROUNDS):
            left = [index for index in order if not found[index].node]
            if not _missing(best) or monotonic() > end or not left:
                break
            order = _with_priority(order, left, random)
            found = self._attempt(pods, order)
            if _missing(found) < _missing(best):
                best, kept = found, list(order)
        if found is not best:
            best = self._attempt(pods, kept)
        return best

    def _attempt(self, pods: Sequence[Pod], order: Sequence[int]) -> list[Placement]:
        self.reset()
        placements = {index: self.place(pods[index], Mode.BEST_FIT) for index in order}
        return [placements[index] for index in range(len(pods))]

    def _costs(self, pods: Sequence[Pod]) -> list[tuple[bool, Waste, int]]:
        """What each pod would cost if it came first; pods that do not even fit then come last."""
        self.reset()
        costs = []
        for pod in pods:
            found = self.weigh(pod)
            wanted = sum(map(_wanted, pod.claims.values()))
            costs.append((found is not None, found[1] if found is not None else (), wanted))
        return costs

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


def _wanted(claim: Object) -> int:
    """How many devices a claim wants at least."""
    devices = (claim.get("spec") or {}).get("devices") or {}
    return sum((request.get("exactly") or {}).get("count", 1) for request in devices.get("requests") or ())


def _error(answers: Iterable[NodeAnswer]) -> str:
    return next((answer.error for answer in answers if answer.error_kind == FATAL), "")


def _missing(placements: Iterable[Placement]) -> int:
    return sum(not placement.node for placement in placements)


def _with_priority(order: Sequence[int], left: Sequence[int], random: Random) -> list[int]:
    """An order in which those that were left over come earlier, each at a random place in the first half."""
    rest = [index for index in order if index not in left]
    for index in left:
        rest.insert(random.randrange(len(rest) // 2 + 1), index)
    return rest
