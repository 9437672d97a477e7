"""The nodes as kube-scheduler knows them: which ones a pod fits on, apart from its claims, and which it prefers."""

from __future__ import annotations

from random import Random

from allocator.node_resources import NodeResources, PodNeeds, needs_of
from allocator.node_scores import preference
from allocator.pod_nodes import Refusal, rejections
from allocator.time_limit import TimeLimit
from resourceapi.manifests import key_of, mapping, name_of
from resourceapi.objects import Object
from resourceapi.releases import CLASSIC, Profile

#: With which the first pod that likes three nodes alike goes to the first of them.
_SEED = 5


class Nodes:
    """Nodes and the pods on them."""

    def __init__(self, time_limit: TimeLimit) -> None:
        self._time_limit = time_limit
        self._nodes: dict[str, Object] = {}
        self._resources = NodeResources()
        self._placed: dict[str, tuple[str, PodNeeds]] = {}
        self._profile = Profile(CLASSIC)
        self._chance = Random(_SEED)

    def put(self, node: Object) -> None:
        """A new or changed node."""
        self._nodes[name_of(node)] = node
        self._resources.put(node)

    def place(self, pod: Object, node: str) -> None:
        """A pod takes its share of a node."""
        key = key_of(pod)
        if key not in self._placed:
            self._placed[key] = node, self.needs(pod)
            self._resources.take(*self._placed[key])

    def take_off(self, pod: Object) -> None:
        """A pod gives back its share."""
        placed = self._placed.pop(key_of(pod), None)
        if placed is not None:
            self._resources.give_back(*placed)

    def needs(self, pod: Object) -> PodNeeds:
        """What a pod needs of a node beside its claims."""
        return needs_of(mapping(pod, "spec"), self._profile)

    def all(self) -> list[Object]:
        """All nodes, by name."""
        return [self._nodes[name] for name in sorted(self._nodes)]

    def refused(self, pod: Object) -> dict[str, Refusal]:
        """The nodes that do not fit apart from claims, each with the first reason.

        :raises OutOfTime: if the time is over.
        """
        found = rejections(
            mapping(pod, "spec"), self.needs(pod), self.all(), self._resources, self._time_limit
        )
        return {name: reasons[0] for name, reasons in found.items()}

    def ranked(self, pod: Object, names: list[str]) -> list[str]:
        """Nodes in the order in which a pod prefers them: by its preferred node affinity, and then any.

        kube-scheduler draws among those with the most points, too; here, the draws are the same each time.

        :raises OutOfTime: if the time is over.
        """
        weights = {}
        for name in names:
            self._time_limit.check()
            weights[name] = preference(mapping(pod, "spec"), self._nodes[name])
        drawn = {name: self._chance.random() for name in names}
        return sorted(names, key=lambda name: (-weights[name], drawn[name]))
