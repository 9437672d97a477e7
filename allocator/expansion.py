"""Which new nodes would place pods that do not fit, as a cluster autoscaler decides (a goal of KEP-4816).

A template is a node with its slices. Pods are placed in the existing cluster first; for the others nodes are added one at a
time, and those that turn out to be unnecessary are removed. Each template gives an option, and all together give one.
Options that leave fewer pods unplaced come first, then those whose pods get better alternatives, then those with fewer nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from allocator.packing import pack
from allocator.pod_nodes import excluded
from allocator.results import places_of
from allocator.scheduling import Mode, SchedulingState
from allocator.simulation import UNHURRIED, Limits, Placement, Pod, Simulation
from allocator.time_limit import OutOfTime
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from resourceapi.records.claims import Allocation
from resourceapi.records.nodes import HOSTNAME, Node

#: The fields that say for which nodes slices and devices are; those of a new node are for that node.
_PLACES = ("allNodes", "nodeName", "nodeSelector")
#: The most new nodes of one option.
MAX_NODES = 1_000
#: Time limits, in seconds: for removing unnecessary nodes from all options, and for packing once per node.
SECONDS, ROUND_SECONDS = 10.0, 1.0


class Template(NamedTuple):
    """A kind of new nodes: a Node and its ResourceSlices (v1, normal form)."""

    node: Node
    slices: tuple[Object, ...]

    @property
    def name(self) -> str:
        """The name of the node that it was made from."""
        return self.node.name

    def made(self, number: int) -> tuple[Node, list[Object]]:
        """The new node with a number, and its slices, in pools of its own."""
        name = f"{self.name}-new-{number}"
        labels = self.node.labels
        if HOSTNAME in labels:
            labels = {**labels, HOSTNAME: name}
        node = self.node._replace(name=name, labels=labels)
        return node, [self._slice(slice, name, number) for slice in self.slices]

    def _slice(self, slice: Object, node: str, number: int) -> Object:
        spec: Object = slice.get("spec") or {}
        pool: Object = spec.get("pool") or {}
        made = _without_place(spec)
        made["pool"] = {**pool, "name": f"{pool.get('name', '')}-new-{number}"}
        if spec.get("perDeviceNodeSelection"):
            made["devices"] = [
                {**_without_place(device or {}), "nodeName": node} for device in spec.get("devices") or ()
            ]
        else:
            made["nodeName"] = node
        return {"metadata": {"name": f"{name_of(slice)}-new-{number}"}, "spec": made}


def _without_place(owner: Object) -> Object:
    return {name: value for name, value in owner.items() if name not in _PLACES}


class ExpansionOption(NamedTuple):
    """A number of new nodes by template, and the pods that they place.

    :param placements: the placements of the pods that need new nodes, in order.
    :param left: the pods that still do not fit.
    :param rank: the sum of the positions of the chosen alternatives in their lists (KEP-4816); lower is better.
    """

    nodes: Mapping[str, int]
    placements: Sequence[Placement]
    left: Sequence[str]
    rank: int

    @property
    def total(self) -> int:
        """How many new nodes there are."""
        return sum(self.nodes.values())


class Expansion(NamedTuple):
    """The placements without new nodes, and the options for placing the other pods, the best first.

    :param complete: whether each pod was decided within the time limits.
    """

    placements: Sequence[Placement]
    options: Sequence[ExpansionOption]
    complete: bool = True


def expand(
    cluster: Callable[[], SchedulingState],
    pods: Sequence[Pod],
    templates: Sequence[Template],
    mode: Mode,
    seconds: float = SECONDS,
    limits: Limits = UNHURRIED,
) -> Expansion:
    """Find new nodes for pods that do not fit.

    :param cluster: makes a copy of the cluster as it is.
    :param mode: how pods are placed in it.
    :param seconds: the time limit for removing unnecessary nodes.
    """
    end = monotonic() + seconds
    first = Simulation(cluster(), limits)
    placements = first.run(pods, mode)
    left = [pod for pod, placement in zip(pods, placements, strict=True) if not placement.node]
    if not left or not templates:
        return Expansion(placements, [], not any(each.undecided for each in placements))
    choices = [[each] for each in templates]
    options = [
        _ExpandedCluster(cluster(), pods, placements, each, mode, limits).option(left, end)
        for each in choices
    ]
    if len(templates) > 1:
        together = _ExpandedCluster(cluster(), pods, placements, templates, mode, limits).option(left, end)
        if len([count for count in together.nodes.values() if count]) > 1:
            options.append(together)
    complete = not any(each.undecided for option in options for each in option.placements)
    return Expansion(
        placements,
        sorted(options, key=lambda option: (len(option.left), option.rank, option.total)),
        complete,
    )


class _ExpandedCluster:
    """A cluster with new nodes; the pods that fit without them are placed first."""

    def __init__(
        self,
        cluster: SchedulingState,
        pods: Sequence[Pod],
        placements: Sequence[Placement],
        templates: Sequence[Template],
        mode: Mode,
        limits: Limits,
    ) -> None:
        self._cluster = cluster
        self._templates = templates
        self._made: list[tuple[Template, Node, list[Object]]] = []
        before = Simulation(cluster, limits)
        before.run([pod for pod, each in zip(pods, placements, strict=True) if each.node], mode)
        self._simulation = Simulation(cluster, limits, before)

    def option(self, left: Sequence[Pod], end: float) -> ExpansionOption:
        """Add nodes until all pods are placed that can be, then remove those that are not needed."""
        found = self._simulation.without_half_gangs([self._place(pod) for pod in left])
        placed = [pod for pod, each in zip(left, found, strict=True) if each.node]
        fewer = self._save(placed, end) if placed else None
        by_name = {each.pod: each for each in fewer or found}
        found = [by_name.get(each.pod, each) for each in found]
        counts = {template.name: 0 for template in self._templates}
        for template, _, _ in self._made:
            counts[template.name] += 1
        rank = sum(_rank(pod, each) for pod, each in zip(left, found, strict=True))
        return ExpansionOption(counts, found, [each.pod for each in found if not each.node], rank)

    def _place(self, pod: Pod) -> Placement:
        """Place a pod on an existing node, or else on a new one of the template that serves it best."""
        placement = self._simulation.place(self._open(pod), Mode.BEST_FIT)
        if placement.node or placement.undecided or len(self._made) >= MAX_NODES:
            return placement
        offers = []
        for place, template in enumerate(self._templates):
            self._add(template)
            offer = self._simulation.weigh(self._open(pod))
            self._remove()
            if offer is not None:
                offers.append((offer, place))
        if not offers:
            return placement._replace(undecided=self._simulation.limits.whole.is_over)
        self._add(self._templates[min(offers)[1]])
        return self._simulation.place(self._open(pod), Mode.BEST_FIT)

    def _save(self, pods: Sequence[Pod], end: float) -> list[Placement] | None:
        """Remove nodes as long as all pods are still placed.

        :returns: the placements then; None if no node could be removed.
        """
        saved: list[Placement] | None = None
        opened = [self._open(pod) for pod in pods]
        for index in reversed(range(len(self._made))):
            if monotonic() > end:
                break
            self._simulation.reset()
            made = self._made.pop(index)
            self._take_out(made)
            found = pack(self._simulation, opened, ROUND_SECONDS)
            if all(each.node for each in found):
                saved = found
            else:
                self._put_in(made)
                self._made.insert(index, made)
        return saved

    def _open(self, pod: Pod) -> Pod:
        """The pod with the new nodes that its spec excludes."""
        try:
            limit = self._simulation.limits.of_pod()
            closed = excluded(dict(pod.spec), (node for _, node, _ in self._made), limit)
        except OutOfTime:
            return pod._replace(late=True)
        return pod._replace(closed=pod.closed.union(closed)) if closed else pod

    def _add(self, template: Template) -> None:
        made = (template, *template.made(len(self._made) + 1))
        self._made.append(made)
        self._put_in(made)

    def _remove(self) -> None:
        self._take_out(self._made.pop())

    def _put_in(self, made: tuple[Template, Node, list[Object]]) -> None:
        for slice in made[2]:
            self._cluster.put_slice(slice)
        self._cluster.put_node(made[1])

    def _take_out(self, made: tuple[Template, Node, list[Object]]) -> None:
        self._cluster.remove_node(made[1].name)
        for slice in made[2]:
            self._cluster.remove_slice(name_of(slice))


def _rank(pod: Pod, placement: Placement) -> int:
    """The sum of the positions of the alternatives that a pod has got."""
    return sum(
        sum(places_of(pod.claims[name], Allocation(result))) for name, result in placement.results.items()
    )
