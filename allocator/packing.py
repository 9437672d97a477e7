"""Placing as many pods of a batch as possible, in any order: bin packing by large neighbourhood search.

The largest pods come first, that is those that waste most in the empty cluster (`allocator.fitting.waste`). If some pods
do not fit, the pods of a few nodes are removed and placed again together with those, in another order. The result is
kept if it leaves no more pods unplaced than before, so that pods also move without an immediate gain.
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
from resourceapi.records.claims import devices_of

#: The limits of the search in seconds and rounds, and the most nodes whose pods one round places again.
SECONDS, ROUNDS, NODES = 10.0, 5_000, 3

Cost = tuple[bool, Waste, int]


def pack(simulation: Simulation, pods: Sequence[Pod], seconds: float = SECONDS) -> list[Placement]:
    """Place as many pods as possible within the time limit. Removes all pods that the simulation has placed before.

    :returns: the placements, in the order of `pods`.
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
        """The waste of placing a pod in the empty cluster; lowest for pods that do not fit there."""
        found = self._simulation.weigh(pod)
        wanted = sum(map(_wanted, pod.claims.values()))
        return found is not None, found[1] if found is not None else (), wanted

    def begin(self) -> None:
        """Largest first, or in the given order if that places more."""
        everything = range(len(self._pods))
        by_cost = sorted(everything, key=self._costs.__getitem__, reverse=True)
        self._place_all(by_cost)
        if self._unplaced():
            before = len(self._unplaced())
            self._place_all(everything)
            if len(self._unplaced()) >= before:
                self._place_all(by_cost)

    def improve(self, end: float) -> None:
        """Place pods again until all are placed that fit in the empty cluster, or the time is over."""
        for _ in range(ROUNDS):
            unplaced = self._unplaced()
            if not unplaced or monotonic() > end:
                return
            self._replace(unplaced)

    def _place_all(self, order: Sequence[int]) -> None:
        self._simulation.reset()
        found = {index: self._simulation.place(self._pods[index], Mode.BEST_FIT) for index in order}
        self.placements = [found[index] for index in range(len(self._pods))]

    def _unplaced(self) -> list[int]:
        """Pods that are not placed, but would fit in the empty cluster."""
        return [
            index for index, each in enumerate(self.placements) if not each.node and self._costs[index][0]
        ]

    def _replace(self, unplaced: Sequence[int]) -> None:
        """Remove the pods of some nodes, and place them again together with the unplaced ones."""
        nodes = sorted({each.node for each in self.placements if each.node})
        some = set(self._random.sample(nodes, min(len(nodes), self._random.randint(1, NODES))))
        removed = [index for index in sorted(self._movable) if self.placements[index].node in some]
        before = {index: self.placements[index] for index in (*removed, *unplaced)}
        for index in removed:
            self._simulation.remove(before[index])
        found: dict[int, Placement] = {}
        for index in self._shuffled([*removed, *unplaced]):
            found[index] = self._simulation.place(self._pods[index], Mode.BEST_FIT)
        if sum(not each.node for each in found.values()) > len(unplaced):
            for placement in found.values():
                self._simulation.remove(placement)
            for index in removed:
                self._simulation.restore(before[index])
            found = before
        for index, placement in found.items():
            self.placements[index] = placement

    def _shuffled(self, pods: list[int]) -> list[int]:
        """In random order, or largest first with some exceptions at the end."""
        self._random.shuffle(pods)
        if self._random.random() < 0.5:
            late = {index for index in pods if self._random.random() < 0.2}
            pods.sort(key=lambda index: (index not in late, self._costs[index]), reverse=True)
        return pods


def _wanted(claim: Object) -> int:
    """The number of devices that a claim requests by `exactly`."""
    requests = devices_of(claim).get("requests") or ()
    return sum((request.get("exactly") or {}).get("count", 1) for request in requests)
