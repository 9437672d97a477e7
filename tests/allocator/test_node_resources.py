"""What nodes have left for a pod, as kube-scheduler's NodeResourcesFit counts it."""

from __future__ import annotations

import pytest

from allocator.node_resources import NodeResources, PodNeeds, counted
from resourceapi.quantity import amounts_of
from resourceapi.records.nodes import Node


def node(name: str = "n", **allocatable: str) -> Node:
    return Node(name, allocatable=amounts_of({"pods": "10", **allocatable}))


def needs(by_claim: tuple[str, ...] = (), /, **requests: str) -> PodNeeds:
    return PodNeeds(counted(amounts_of(requests)), frozenset(by_claim))


GPU = {"example.com/gpu": "1"}


@pytest.mark.parametrize(
    ("has", "used", "wanted", "expected"),
    [
        pytest.param({"cpu": "2"}, {"cpu": "500m"}, needs(cpu="1500m"), [], id="just-enough"),
        pytest.param(
            {"cpu": "2"},
            {"cpu": "500m"},
            needs(cpu="1501m"),
            [("Insufficient cpu", "1501m requested, 1500m of 2 left")],
            id="a-thousandth-too-much",
        ),
        pytest.param(
            {"memory": "1Gi", "cpu": "1"},
            {},
            needs(memory="1537Mi", cpu="2"),
            [
                ("Insufficient cpu", "2 requested, 1 of 1 left"),
                ("Insufficient memory", "1537Mi requested, 1Gi of 1Gi left"),
            ],
            id="several",
        ),
        pytest.param({"pods": "1"}, {"cpu": "1"}, needs(), [("Too many pods", "0 of 1 left")], id="pods"),
        pytest.param({}, {"cpu": "8"}, needs(cpu="0"), [], id="nothing-requested"),
        pytest.param(
            {},
            {},
            needs(**GPU),
            [("Insufficient example.com/gpu", "1 requested, 0 of 0 left")],
            id="extended",
        ),
        pytest.param({}, {}, needs(("example.com/gpu",), **GPU), [], id="extended-by-claim"),
        pytest.param(
            GPU,
            GPU,
            needs(("example.com/gpu",), **GPU),
            [("Insufficient example.com/gpu", "1 requested, 0 of 1 left")],
            id="a-device-plugin-comes-before-claims",
        ),
    ],
)
def test_shortages(
    has: dict[str, str], used: dict[str, str], wanted: PodNeeds, expected: list[tuple[str, str]]
) -> None:
    """What is missing, in kube-scheduler's words and order, and how much there is."""
    resources = NodeResources([node(**has)])
    if used:
        resources.take("n", needs(**used))
    assert [(each.reason, each.amounts) for each in resources.shortages("n", wanted)] == expected
    assert ("n" in resources.closed(wanted)) is bool(expected)


def test_changes() -> None:
    """Nodes close as pods come and open as they go, also for needs that have been asked for before."""
    resources, wanted = NodeResources([node("a", cpu="2"), node("b", cpu="1")]), needs(cpu="1")
    assert resources.closed(wanted) == set()
    resources.take("b", wanted)
    copy = resources.copy()
    assert resources.closed(wanted) == {"b"}
    resources.put(node("b", cpu="3"))
    assert resources.closed(wanted) == set()
    resources.give_back("b", wanted)
    resources.put(node("b", cpu="1"))
    assert resources.closed(wanted) == set()
    assert copy.closed(wanted) == {"b"}


def test_unknown() -> None:
    """A node that does not say what it has lacks nothing."""
    resources = NodeResources([Node("n")])
    assert not resources.are_known
    assert resources.closed(needs(cpu="1000")) == set()
