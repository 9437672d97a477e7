"""Placing as many pods of a batch as possible, in any order: bin packing by large neighbourhood search.

The largest pods come first, that is those that waste most in the empty cluster
(`allocator.fitting.waste`). If some pods do not fit, the pods of a few nodes are removed and placed
again together with those, in another order. The result is kept if it leaves no more pods unplaced than
before, so that pods also move without an immediate gain.

Of a gang that does not fit as a whole, the pods are also tried on other nodes than those on which some of them would be: where the
first of them is may decide where the others have to be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from time import monotonic

from allocator.fitting.waste import Waste
from allocator.gangs import Gang
from allocator.scheduling import Mode
from allocator.simulation import Placement, Pod, Simulation
from resourceapi.records.claims import Claim

#: The limits of the search in seconds and rounds, and the most nodes whose pods one round places again.
SECONDS, ROUNDS, NODES = 10.0, 5_000, 3

Cost = tuple[bool, Waste, int]


def pack(
    simulation: Simulation, pods: Sequence[Pod], seconds: float = SECONDS, rounds: int = ROUNDS
) -> list[Placement]:
    """Place as many pods as possible within the time limit. Removes all pods that the simulation has placed before.

    :param rounds: how often it is tried to place more at most.
    :returns: the placements, in the order of `pods`.
    """
    packing = _Packing(simulation, pods)
    packing.begin()
    packing.improve(monotonic() + seconds, rounds)
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
            index
            for index, pod in enumerate(pods)
            if pod.gang is None and all(users[name] == 1 for name in pod.claims)
        }
        self._elsewhere = _OtherNodes(simulation, self._random)

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

    def improve(self, end: float, rounds: int) -> None:
        """Place pods again until all are placed that fit in the empty cluster, or the time is over."""
        for _ in range(rounds):
            unplaced = self._unplaced()
            if not unplaced or monotonic() > end or self._simulation.limits.whole.is_over:
                return
            self._replace(unplaced)

    def _place_all(self, order: Sequence[int]) -> None:
        self._simulation.reset()
        found = self._placed(order, dict(enumerate(self._pods)), is_brief=False)
        self.placements = [found[index] for index in range(len(self._pods))]

    def _placed(
        self, order: Sequence[int], pods: Mapping[int, Pod], *, is_brief: bool
    ) -> dict[int, Placement]:
        """Place some pods in this order."""
        found = self._simulation.run([pods[index] for index in order], Mode.BEST_FIT, is_brief=is_brief)
        return dict(zip(order, found, strict=True))

    def _unplaced(self) -> list[int]:
        """Pods that are not placed, but would fit in the empty cluster; those of gangs only if enough would."""
        left = [
            index for index, each in enumerate(self.placements) if not each.node and self._costs[index][0]
        ]
        fitting = Counter(gang.name for index in left if (gang := self._pods[index].gang) is not None)
        return [index for index in left if self._may_be_placed(self._pods[index].gang, fitting)]

    def _may_be_placed(self, gang: Gang | None, fitting: Mapping[str, int]) -> bool:
        """Whether enough pods of a gang fit, each by itself; true of a pod without one."""
        return gang is None or self._simulation.scheduled(gang) + fitting[gang.name] >= gang.min_count

    def _replace(self, unplaced: Sequence[int]) -> None:
        """Remove the pods of some nodes, and place them again together with the unplaced ones."""
        nodes = sorted({each.node for each in self.placements if each.node})
        some = set(self._random.sample(nodes, min(len(nodes), self._random.randint(1, NODES))))
        removed = [index for index in sorted(self._movable) if self.placements[index].node in some]
        before = {index: self.placements[index] for index in (*removed, *unplaced)}
        for index in removed:
            self._simulation.remove(before[index])
        order = self._shuffled([*removed, *unplaced])
        pods = {index: self._elsewhere.open(self._pods[index]) for index in order}
        found = self._placed(order, pods, is_brief=True)
        self._elsewhere.note(found.values())
        if sum(not each.node for each in found.values()) > len(unplaced):
            for placement in found.values():
                self._simulation.remove(placement)
            for index in removed:
                self._simulation.restore(before[index])
            found = before
        for index, placement in found.items():
            if placement.node or self.placements[index].node:  # why it fits nowhere is said of all nodes
                self.placements[index] = placement

    def _shuffled(self, pods: list[int]) -> list[int]:
        """In random order, or largest first with some exceptions at the end."""
        self._random.shuffle(pods)
        if self._random.random() < 0.5:
            late = {index for index in pods if self._random.random() < 0.2}
            pods.sort(key=lambda index: (index not in late, self._costs[index]), reverse=True)
        return pods


class _OtherNodes:
    """Keeps the pods of a gang that does not fit from ever more of the nodes on which they would be, until none is left."""

    def __init__(self, simulation: Simulation, random: Random) -> None:
        self._simulation = simulation
        self._random = random
        #: the nodes that pods are kept from, by the name of their gang
        self._avoided: dict[str, frozenset[str]] = {}

    def open(self, pod: Pod) -> Pod:
        """A pod without the nodes that it is to be kept from."""
        avoided = self._avoided.get(pod.gang.name) if pod.gang is not None else None
        return pod._replace(closed=pod.closed | avoided) if avoided else pod

    def note(self, placements: Iterable[Placement]) -> None:
        """Take down what has become of gangs."""
        found: dict[str, list[str]] = {}
        for each in placements:
            if each.gang is not None:
                nodes = found.setdefault(each.gang.name, [])
                nodes += [each.withdrawn.node] if each.withdrawn is not None else []
        for name, nodes in found.items():
            before = self._avoided.pop(name, frozenset())
            if nodes:
                self._avoided[name] = before.union(self._some(nodes))

    def _some(self, nodes: Sequence[str]) -> Collection[str]:
        """One of the nodes, perhaps with all that serve claims alike."""
        one = self._random.choice(nodes)
        if self._random.random() < 0.5:
            return {one}
        return next((each for each in self._simulation.kinds_of_nodes() if one in each), [one])


def _wanted(claim: Claim) -> int:
    """The number of devices that a claim requests by `exactly`; one for each list."""
    return sum(1 if each.is_list else each.alternatives[0].number for each in claim.devices.requests)
