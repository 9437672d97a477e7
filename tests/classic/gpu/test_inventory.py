"""Which GPUs nodes have."""

from __future__ import annotations

import pytest

from classic.gpu.inventory import GPUs, NodeGPUs
from resourceapi.records.nodes import Node

GI = 1 << 30
USUAL = GPUs(2, 16 * GI)


def node(name: str, labels: dict[str, str] | None = None, *, unschedulable: bool = False) -> Node:
    return Node(name, labels or {}, is_unschedulable=unschedulable)


def inventory(*nodes: Node, usual: GPUs = USUAL) -> NodeGPUs:
    return NodeGPUs("gpu.example.com", usual, lambda: {each.name: each for each in nodes})


@pytest.mark.parametrize(
    ("labels", "sizes"),
    [
        ({}, {"gpu-0": 16 * GI, "gpu-1": 16 * GI}),
        ({"gpu.example.com/count": "1"}, {"gpu-0": 16 * GI}),
        ({"gpu.example.com/count": "0"}, {}),
        ({"gpu.example.com/memory": "8Gi", "gpu.example.com/count": "1"}, {"gpu-0": 8 * GI}),
        ({"other.example.com/count": "1"}, {"gpu-0": 16 * GI, "gpu-1": 16 * GI}),
        ({"gpu.example.com/count": "many"}, {}),
        ({"gpu.example.com/count": "65"}, {}),
        ({"gpu.example.com/count": "-1"}, {}),
        ({"gpu.example.com/memory": "0"}, {}),
    ],
)
def test_nodes_have_the_usual_gpus_unless_their_labels_say_otherwise(
    labels: dict[str, str], sizes: dict[str, int]
) -> None:
    assert inventory(node("worker-1", labels)).sizes("worker-1") == sizes


def test_node_that_the_cluster_does_not_have_has_no_gpus() -> None:
    gpus = inventory(node("worker-1"))
    assert gpus.sizes("worker-2") == {}
    assert (gpus.knows("worker-1"), gpus.knows("worker-2")) == (True, False)


def test_nodes_for_immediate_allocation_take_pods_and_are_what_the_class_allows() -> None:
    gpus = inventory(node("b", {"pool": "gpu"}), node("a"), node("c", {"pool": "gpu"}, unschedulable=True))
    in_pool = {"key": "pool", "operator": "In", "values": ["gpu"]}
    assert gpus.open_nodes(None) == ["a", "b"]
    assert gpus.open_nodes({"nodeSelectorTerms": [{"matchExpressions": [in_pool]}]}) == ["b"]
