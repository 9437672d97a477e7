"""Pods take CPU and the like of the nodes on which a simulation puts them, and extended resources of device plugins."""

from __future__ import annotations

import pytest

from allocator.gangs import Gang
from allocator.node_resources import NodeResources, PodNeeds
from allocator.packing import pack
from allocator.pod_claims import ClaimsOnNodes
from allocator.scheduling import Mode, SchedulingState
from allocator.simulation import UNHURRIED, Pod, Simulation
from resourceapi.quantity import amounts_of
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from tests.allocator.objects import claim, cluster, device, exactly, node, slice_of

GPU = "example.com/gpu"
MODES = [Mode.ATTEMPT, Mode.BEST_FIT]


def two_nodes(**allocatable: dict[str, int]) -> SchedulingState:
    """Nodes with four devices each, and with what else is given."""
    slices = [slice_of("d0", "d1", "d2", "d3", name=name, pool=name, nodeName=name) for name in ("n1", "n2")]
    state = cluster(*slices, nodes=[node("n1"), node("n2")])
    state.resources = NodeResources()
    for name in ("n1", "n2"):
        amounts = {"pods": 10, "cpu": 4, **allocatable.get(name, {})}
        written = {resource: str(amount) for resource, amount in amounts.items()}
        state.resources.put(Node(name, allocatable=amounts_of(written)))
    return state


def pod(name: str, cpu: int) -> Pod:
    return Pod(name, {f"ns/{name}": Claim(claim(exactly(), name=name))}, needs=PodNeeds({"cpu": cpu * 1000}))


@pytest.mark.parametrize("mode", MODES)
def test_full_nodes(mode: Mode) -> None:
    """What one pod takes the next cannot have, though devices are left."""
    simulation = Simulation(two_nodes(n2={"cpu": 8}), UNHURRIED)
    placed = simulation.run([pod(name, 3) for name in "abcd"], mode)
    assert sorted(each.node for each in placed) == ["", "n1", "n2", "n2"]
    assert [each.reason for each in placed if not each.node] == [
        "0/2 nodes are available: 2 Insufficient cpu."
    ]


def test_removed_pods() -> None:
    """What a pod has taken is free again when it is removed, or all are."""
    simulation = Simulation(two_nodes(n2={"pods": 0}), UNHURRIED)
    first = simulation.place(pod("a", 3), Mode.ATTEMPT)
    assert not simulation.place(pod("b", 3), Mode.ATTEMPT).node
    simulation.remove(first)
    assert simulation.place(pod("b", 3), Mode.ATTEMPT).node == "n1"
    simulation.reset()
    again = simulation.place(pod("c", 2), Mode.ATTEMPT)
    simulation.remove(again)
    simulation.restore(again)
    left = simulation.place(pod("d", 3), Mode.ATTEMPT)
    assert left.reason == "0/2 nodes are available: 1 Insufficient cpu, 1 Too many pods."
    simulation.reset()
    assert simulation.place(pod("e", 4), Mode.ATTEMPT).node == "n1"


def test_batch() -> None:
    """A batch is placed within what nodes have."""
    placed = pack(Simulation(two_nodes(), UNHURRIED), [pod("a", 1), pod("b", 3), pod("c", 3), pod("d", 1)])
    assert sorted(each.node for each in placed) == ["n1", "n1", "n2", "n2"]


@pytest.mark.parametrize(
    ("how", "least", "placed"), [("mapping", 2, 0), ("overhead", 2, 2), ("mapping", 1, 2)]
)
def test_claim_that_a_gang_shares(how: str, least: int, placed: int) -> None:
    """Of pods that are tried together one alone may have a claim whose device stands for CPU; kube-scheduler says so of the others."""
    takes = {
        "cpu": {"mapping": {"deviceMultiplier": "1"}} if how == "mapping" else {"overhead": {"perPod": "1"}}
    }
    slices = slice_of(device("d0", nodeAllocatableResources=takes), name="s", pool="p", nodeName="n1")
    state = cluster(slices, nodes=[node("n1", declared=["DRANodeAllocatableResources"])])
    state.resources = NodeResources()
    state.resources.put(Node("n1", allocatable=amounts_of({"cpu": "8", "pods": "9"})))
    shared, spec = Claim(claim(exactly(), name="s")), {"schedulingGroup": {"podGroupName": "g"}}
    reserved = {"ns/s": {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "u"}}
    pods = [
        Pod(name, {"ns/s": shared}, spec=spec, needs=PodNeeds(), gang=Gang("ns/g", least), shared=reserved)
        for name in "ab"
    ]
    found = Simulation(state, UNHURRIED).run(pods, Mode.ATTEMPT)
    assert sum(bool(each.node) for each in found) == placed
    if not placed:
        assert "cannot be shared across pods" in found[1].reason


@pytest.mark.parametrize("mode", MODES)
def test_device_plugins(mode: Mode) -> None:
    """A node's device plugin serves pods as long as it has something; other nodes give devices for a claim."""
    state = two_nodes(n1={GPU: 1})
    simulation = Simulation(state, UNHURRIED)
    placed = []
    for name in ("a", "b", "c"):
        asked = Pod(
            name,
            {f"ns/{name}": Claim(claim(exactly(count=2), name=name))},
            needs=PodNeeds({GPU: 1}, frozenset((GPU,))),
            instead=[ClaimsOnNodes(frozenset(("n1",)), [])],
        )
        placed.append(simulation.place(asked, mode))
    assert sorted(each.node for each in placed) == ["n1", "n2", "n2"]
    assert {bool(each.results) for each in placed if each.node == "n1"} == {False}
    assert [len(each.results) for each in placed if each.node == "n2"] == [1, 1]
