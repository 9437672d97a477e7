"""Nodes like those of a cluster, and how many more of them a number of pods or claims would need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allocator.expansion import Expansion, Template, expand
from allocator.explaining.snapshot import Snapshot
from allocator.node_resources import NodeResources
from allocator.scheduling import Mode
from allocator.simulation import Limits
from allocator.time_limit import TimeLimit
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.devices.capacity import model_of
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.answers.room import alike
from claimcheck.answers.tried import pods_of, scheduling_state
from cluster.workloads import Workload
from resourceapi.errors import Unanswerable
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.manifests import entries, mapping, name_of, text
from resourceapi.objects import Object
from resourceapi.records.nodes import Node

#: The taints with which Kubernetes says how a node is; those of new nodes are well.
_STATES = "node.kubernetes.io/"
#: So long nodes are looked for that are not needed.
_SAVING_SECONDS = 2.0


class ModelCount(NamedTuple):
    """How many devices of a model there are."""

    driver: str
    model: str
    devices: int


class NodeKind(NamedTuple):
    """Nodes with as many devices of each model.

    :param node: one of them, which takes pods if any does.
    :param nodes: how many they are.
    """

    node: str
    nodes: int
    devices: Sequence[ModelCount]


def node_kinds(devices: ClusterDevices) -> list[NodeKind]:
    """The kinds of nodes that have devices of their own, the most frequent first."""
    on_node: dict[str, Counter[tuple[str, str]]] = {}
    closed: set[str] = set()
    for device in devices:
        node = str(device.placement.get("nodeName", ""))
        if node and not devices.is_obsolete(device):
            if node not in on_node and devices.closed(device) is not None:
                closed.add(node)
            on_node.setdefault(node, Counter())[device.id.driver, model_of(device)] += 1
    alike_nodes: dict[tuple[ModelCount, ...], list[str]] = {}
    for node, counts in on_node.items():
        key = tuple(ModelCount(*name, count) for name, count in sorted(counts.items()))
        alike_nodes.setdefault(key, []).append(node)
    found = [
        NodeKind(next((each for each in nodes if each not in closed), nodes[0]), len(nodes), key)
        for key, nodes in alike_nodes.items()
    ]
    return sorted(found, key=lambda each: -each.nodes)


def template_of(state: ClusterState, name: str) -> Template:
    """New nodes like one of a cluster, with devices like its own.

    :raises Unanswerable: if there is no such node, or no device is on it alone.
    """
    node = next((each for each in state.all_nodes() if each.name == name), None)
    if node is None:
        raise Unanswerable(f"Node {name} is not in the cluster")
    slices = [each for each in state.of(RESOURCE_SLICE.name).values() if name in _nodes_of(each)]
    if not slices:
        raise Unanswerable(f"no ResourceSlice is of Node {name}")
    return Template(_well(node), tuple(_of_node(each, name) for each in slices))


def patched(template: Template, state: ClusterState) -> Template:
    """A template with what rules and patches of a cluster make of its devices; those that name a pool are about that one only."""
    own = state.empty()
    for name, rule in state.taint_rules.items():
        if rule.names is not None and rule.names.pool is not None:
            del own.taint_rules[name]
    for slice in template.slices:
        own.put(RESOURCE_SLICE.name, slice)
    return template._replace(slices=tuple(own.slices))


def _nodes_of(slice: Object) -> set[str]:
    spec = mapping(slice, "spec")
    return {text(owner, "nodeName") for owner in (spec, *entries(spec, "devices")) if isinstance(owner, dict)}


def _of_node(slice: Object, node: str) -> Object:
    """A slice with the devices of a node only, all of which are well: by taints drivers say what is wrong with them."""
    spec = mapping(slice, "spec")
    devices = [
        {name: value for name, value in each.items() if name != "taints"}
        for each in entries(spec, "devices")
        if not spec.get("perDeviceNodeSelection") or text(each, "nodeName") == node
    ]
    return {**slice, "spec": {**spec, "devices": devices}}


def _well(node: Node) -> Node:
    taints = tuple(each for each in node.taints if not each.key.startswith(_STATES))
    return node._replace(taints=taints, is_unschedulable=False)


def templates_in(own: ClusterState) -> list[Template]:
    """The templates in a state of nothing else: each Node with the slices that name it, or with all slices if it is alone.

    :raises Unanswerable: if there is no Node, or a slice belongs to none of them.
    """
    if not own.nodes.objects:
        raise Unanswerable("there is no Node")
    if len(own.nodes.objects) == 1:
        return [Template(node, tuple(own.slices)) for node in own.nodes.objects.values()]
    of_node: dict[str, list[Object]] = {name: [] for name in own.nodes.objects}
    for slice in own.slices:
        name = text(mapping(slice, "spec"), "nodeName")
        if name not in of_node:
            raise Unanswerable(f"slice {name_of(slice)} belongs to none of the nodes")
        of_node[name].append(slice)
    return [Template(node, tuple(of_node[name])) for name, node in own.nodes.objects.items()]


def new_nodes_for(
    snapshot: Snapshot,
    workload: Workload,
    copies: int,
    templates: Iterable[Template],
    resources: NodeResources,
    limit: TimeLimit,
) -> Expansion:
    """Which new nodes, and how many, place copies of a workload that do not fit in the cluster.

    :param resources: what nodes have left beside devices.
    """
    limits = Limits(limit)
    pods = list(pods_of(snapshot, alike(workload, copies), resources, limits, copies))
    return expand(
        lambda: scheduling_state(snapshot, resources),
        pods,
        list(templates),
        Mode.ATTEMPT,
        _SAVING_SECONDS,
        limits,
    )
