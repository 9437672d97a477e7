"""The plugin DynamicResources, one extension point at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from classic.memory_objects import MemoryObjects
from classic.simulation import dynamic_resources as plugin
from classic.simulation.api_server import ApiServer, Client
from classic.simulation.dynamic_resources import Code, CycleState, PodClaim
from classic.simulation.timeline import Timeline, run
from resourceapi.objects import Object
from resourceapi.records.nodes import Node

POD: Object = {
    "kind": "Pod",
    "metadata": {"name": "pod", "namespace": "ns", "uid": "u"},
    "spec": {"resourceClaims": [{"name": "gpu", "source": {"resourceClaimName": "claim"}}]},
}
MINE = {"resource": "pods", "name": "pod", "uid": "u"}
OTHER = {"resource": "pods", "name": "other", "uid": "o"}


def claim(*, mode: str = "WaitForFirstConsumer", **status: Any) -> Object:
    """The claim of the pod."""
    return {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "ns"},
        "spec": {"resourceClassName": "gpu", "allocationMode": mode},
        "status": {"driverName": "gpu.example.com", **status} if "allocation" in status else status,
    }


def on(node: str, **more: Any) -> Object:
    """An allocation for a node."""
    name = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"availableOnNodes": {"nodeSelectorTerms": [{"matchFields": [name]}]}, **more}


def node(name: str, **labels: str) -> Node:
    return Node(name, labels)


@pytest.mark.parametrize(
    ("stored", "code", "reason"),
    [
        (claim(), Code.SUCCESS, ""),
        (claim(deallocationRequested=True), Code.UNSCHEDULABLE, "resourceclaim must be reallocated"),
        (claim(allocation=on("a")), Code.SUCCESS, ""),
        (claim(allocation=on("a"), reservedFor=[MINE]), Code.SUCCESS, ""),
        (claim(allocation=on("a"), reservedFor=[OTHER]), Code.UNSCHEDULABLE, "resourceclaim in use"),
        (claim(allocation=on("a", shareable=True), reservedFor=[OTHER]), Code.SUCCESS, ""),
        (claim(mode="Immediate"), Code.UNSCHEDULABLE, "unallocated immediate resourceclaim"),
        (claim(mode="Immediate", allocation=on("a")), Code.SUCCESS, ""),
    ],
)
def test_pre_filter(stored: Object, code: Code, reason: str) -> None:
    """An attempt goes on if all claims are there, free, and not about to be deallocated."""
    objects = MemoryObjects()
    objects.create({"kind": "ResourceClass", "metadata": {"name": "gpu"}, "driverName": "d"})
    objects.create(stored)
    status = plugin.pre_filter(objects, POD, CycleState())
    assert (status.code, status.reason) == (code, reason)


def test_pre_filter_without_class() -> None:
    """A claim whose class does not exist keeps the pod waiting."""
    objects = MemoryObjects()
    objects.create(claim())
    status = plugin.pre_filter(objects, POD, CycleState())
    assert (status.code, status.reason) == (Code.UNSCHEDULABLE, "resource class gpu does not exist")


def state(*claims: PodClaim, context: Object | None = None) -> CycleState:
    return CycleState(list(claims), context)


def allocated(node: str, entry: str = "gpu", mode: str = "WaitForFirstConsumer", **status: Any) -> PodClaim:
    """A claim that is allocated for a node."""
    found = PodClaim(entry, claim(mode=mode, allocation=on(node), **status))
    found.nodes = on(node)["availableOnNodes"]
    return found


def test_filter_looks_at_all_claims() -> None:
    """One claim that is available does not make the node fit; each that is not counts for PostFilter."""
    two = state(allocated("a"), allocated("b", "nic"))
    status = plugin.filter_node(node("a"), two)
    assert (status.code, status.reason) == (Code.UNSCHEDULABLE, "resourceclaim not available on the node")
    assert [each.entry for each in two.unavailable] == ["nic"]
    plugin.filter_node(node("c"), two)
    assert [each.entry for each in two.unavailable] == ["nic", "gpu"]


def test_filter_by_class_and_driver() -> None:
    """A claim that is not allocated: its class and its driver have to allow the node."""
    term = {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}
    pending = PodClaim("gpu", claim(), {"nodeSelectorTerms": [term]}, frozenset(("a",)))
    reasons = [
        plugin.filter_node(each, state(pending)).reason
        for each in (node("a"), node("a", gpu="1"), node("b", gpu="1"))
    ]
    assert reasons == [
        "excluded by resource class node filter",
        "resourceclaim cannot be allocated for the node (unsuitable)",
        "",
    ]


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        (allocated("a"), "deallocation of ResourceClaim completed"),
        (allocated("a", reservedFor=[MINE]), "deallocation of ResourceClaim completed"),
        (allocated("a", reservedFor=[OTHER]), "still not schedulable"),
        (allocated("a", reservedFor=[MINE, OTHER]), "still not schedulable"),
        (allocated("a", mode="Immediate"), "still not schedulable"),
    ],
)
def test_post_filter(kept: PodClaim, reason: str) -> None:
    """A claim is deallocated unless others use it, or it would be allocated anywhere again."""

    async def scene() -> None:
        server = ApiServer(Timeline())
        kept.claim = server.objects.create(kept.claim)
        found = state(kept)
        plugin.filter_node(node("b"), found)
        status = await plugin.post_filter(Client(server, "scheduler"), POD, found, lambda claims: claims[0])
        assert status.reason == reason
        stored = server.objects.get("ResourceClaim", "ns", "claim")
        assert stored is not None
        requested = stored["status"].get("deallocationRequested", False)
        assert requested == (reason != "still not schedulable")
        assert not (requested and stored["status"].get("reservedFor"))

    run(scene())


CONTEXT: Object = {
    "kind": "PodSchedulingContext",
    "metadata": {"name": "pod", "namespace": "ns"},
    "spec": {"selectedNode": "a", "potentialNodes": ["a", "b"]},
}


@pytest.mark.parametrize(
    ("found", "nodes", "expected"),
    [
        (lambda: state(PodClaim("gpu", claim())), ["a", "b"], ("a", ["a", "b"], Code.SUCCESS)),
        # only one node fits: PreScore is not called
        (lambda: state(PodClaim("gpu", claim())), ["a"], ("a", ["a"], Code.SUCCESS)),
        # the driver is allocating already
        (lambda: state(PodClaim("gpu", claim()), context=CONTEXT), ["a", "b"], (None, None, Code.PENDING)),
        # several claims: all drivers have to have answered
        (
            lambda: state(PodClaim("gpu", claim()), PodClaim("nic", claim())),
            ["a", "b"],
            (None, ["a", "b"], Code.SUCCESS),
        ),
        (
            lambda: state(*(PodClaim(name, claim(), None, frozenset()) for name in ("gpu", "nic"))),
            ["a", "b"],
            ("a", ["a", "b"], Code.SUCCESS),
        ),
        (lambda: state(allocated("a")), ["a"], (None, None, Code.SUCCESS)),
    ],
)
def test_reserve(
    found: Callable[[], CycleState], nodes: list[str], expected: tuple[str | None, list[str] | None, Code]
) -> None:
    """What is to be written for the first of the nodes that fit: the selected node, the potential nodes."""
    attempt = found()
    if len(nodes) > 1:
        plugin.pre_score(attempt, nodes)
    status = plugin.reserve(attempt, nodes[0])
    assert (attempt.selected_node, attempt.potential_nodes, status.code) == expected


@pytest.mark.parametrize(("fitting", "named"), [(128, 128), (129, 128)])
def test_potential_nodes_are_limited(fitting: int, named: int) -> None:
    """A PodSchedulingContext names at most 128 nodes."""
    attempt = state(PodClaim("gpu", claim()))
    plugin.pre_score(attempt, [f"n{number:03}" for number in range(fitting)])
    assert attempt.potential_nodes is not None
    assert len(attempt.potential_nodes) == named


def test_published_in_spite_of_a_conflict() -> None:
    """Nobody else writes the spec, so a context that has changed since is written all the same; its status stays."""

    async def scene() -> None:
        server = ApiServer(Timeline())
        known = server.objects.create(CONTEXT)
        told = {**known, "status": {"resourceClaims": [{"name": "gpu"}]}}
        server.objects.update_status("PodSchedulingContext", told)
        attempt = state(context=known)
        attempt.selected_node = "b"
        await plugin.publish(Client(server, "scheduler"), POD, attempt)
        stored = server.objects.get("PodSchedulingContext", "ns", "pod")
        assert stored is not None
        assert (stored["spec"]["selectedNode"], stored["status"]) == ("b", told["status"])
        assert not attempt.is_dirty

    run(scene())


def test_unreserve_takes_back_what_pre_bind_reserves() -> None:
    """The pod gets into the users of its claim, and out of them; others stay."""

    async def scene() -> None:
        server = ApiServer(Timeline())
        client = Client(server, "scheduler")
        shared = claim(allocation=on("a", shareable=True), reservedFor=[OTHER])
        used = PodClaim("gpu", server.objects.create(shared))
        assert (await plugin.pre_bind(client, POD, state(used))).code is Code.SUCCESS
        assert used.claim["status"]["reservedFor"] == [MINE, OTHER]  # as a strategic merge patch adds it
        await plugin.unreserve(client, POD, state(used))
        stored = server.objects.get("ResourceClaim", "ns", "claim")
        assert stored is not None
        assert stored["status"]["reservedFor"] == [OTHER]

    run(scene())
