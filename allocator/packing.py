"""A batch of pods, of which as many as possible are to be placed: in whatever order, and moved about until they fit.

Largest first: what costs most when nothing is there yet (`allocator.fitting.waste`) has the fewest places to go. If pods
are left over, the pods of a few nodes are taken off, and placed again together with those in another order; that stays
if no more are left over than before, so that pods also move where nothing is gained at once (large neighbourhood search).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from time import monotonic

from allocator.fitting.waste import Waste
from allocator.scheduling import Mode
from allocator.simulation import Placement, Pod, Simulation
from resourceapi.objects import Object

#: How long pods are moved about, in seconds, how often at most, and the pods of how many nodes at a time.
SECONDS, ROUNDS, NODES = 10.0, 5_000, 3

Cost = tuple[bool, Waste, int]


def pack(simulation: Simulation, pods: Sequence[Pod], seconds: float = SECONDS) -> list[Placement]:
    """Place as many pods as can be found out within the time; the placements are in the order of `pods`.

    What the simulation has placed before is removed.
    """
    packing = _Packing(simulation, pods)
    packing.begin()
    packing.improve(monotonic() + seconds)
    return packing.placements


class _Packing:
    def __init__(self, simulation: Simulation, pods: Sequence[Pod]) -> None:
        self._simulation = simulation
        self._pods = pods
        self._random = Random(len(pods))
        self.placements: list[Placement] = []
        simulation.reset()
        self._costs = [self._cost(pod) for pod in pods]
        simulation.reset()
        users = Counter(name for pod in pods for name in pod.claims)
        #: pods that share no claims, so that they can be moved by themselves
        self._movable = {
            index for index, pod in enumerate(pods) if all(users[name] == 1 for name in pod.claims)
        }

    def _cost(self, pod: Pod) -> Cost:
        """What the pod costs if it comes first; pods that do not even fit then come last."""
        found = self._simulation.weigh(pod)
        wanted = sum(map(_wanted, pod.claims.values()))
        return found is not None, found[1] if found is not None else (), wanted

    def begin(self) -> None:
        """Largest first, or in the given order if that places more."""
        everything = range(len(self._pods))
        by_cost = sorted(everything, key=self._costs.__getitem__, reverse=True)
        self._place_all(by_cost)
        if self._left():
            before = len(self._left())
            self._place_all(everything)
            if len(self._left()) >= before:
                self._place_all(by_cost)

    def improve(self, end: float) -> None:
        """Move pods about until all are placed that fit at all, or the time is over."""
        for _ in range(ROUNDS):
            left = self._left()
            if not left or monotonic() > end:
                return
            self._move(left)

    def _place_all(self, order: Sequence[int]) -> None:
        self._simulation.reset()
        found = {index: self._simulation.place(self._pods[index], Mode.BEST_FIT) for index in order}
        self.placements = [found[index] for index in range(len(self._pods))]

    def _left(self) -> list[int]:
        """Pods that are not placed, though they would fit if they were alone."""
        return [
            index for index, each in enumerate(self.placements) if not each.node and self._costs[index][0]
        ]

    def _move(self, left: Sequence[int]) -> None:
        """Take some nodes' pods off, and place them anew with those that are left over."""
        nodes = sorted({each.node for each in self.placements if each.node})
        some = set(self._random.sample(nodes, min(len(nodes), self._random.randint(1, NODES))))
        off = [index for index in sorted(self._movable) if self.placements[index].node in some]
        before = {index: self.placements[index] for index in (*off, *left)}
        for index in off:
            self._simulation.remove(before[index])
        found: dict[int, Placement] = {}
        for index in self._shuffled([*off, *left]):
            found[index] = self._simulation.place(self._pods[index], Mode.BEST_FIT)
        if sum(not each.node for each in found.values()) > len(left):
            for placement in found.values():
                self._simulation.remove(placement)
            for index in off:
                self._simulation.restore(before[index])
            found = before
        for index, placement in found.items():
            self.placements[index] = placement

    def _shuffled(self, pods: list[int]) -> list[int]:
        """In a random order, or largest first but for some."""
        self._random.shuffle(pods)
        if self._random.random() < 0.5:
            late = {index for index in pods if self._random.random() < 0.2}
            pods.sort(key=lambda index: (index not in late, self._costs[index]), reverse=True)
        return pods


def _wanted(claim: Object) -> int:
    """How many devices a claim wants at least."""
    devices = (claim.get("spec") or {}).get("devices") or {}
    return sum((request.get("exactly") or {}).get("count", 1) for request in devices.get("requests") or ())
