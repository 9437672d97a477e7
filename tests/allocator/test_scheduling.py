"""Pods one after the other: what is kept, released, and on which nodes."""

from __future__ import annotations

import gc
import sys

import pytest

from allocator.scheduling import FATAL, NODE, Mode, SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.manifests import key_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.objects import (
    claim,
    cluster,
    counter_slice,
    device,
    draws,
    exactly,
    held,
    node,
    slice_of,
)

NODES = [node("a"), node("b")]


def per_node() -> list[Object]:
    return [slice_of("d", name=name, pool=name, nodeName=name) for name in ("a", "b")]


def test_first_fit_keeps_what_it_finds() -> None:
    """Nodes are asked in order until one fits; later pods see what is taken."""
    state = cluster(*per_node(), nodes=NODES)
    pods = [
        state.place([Claim(claim(exactly(), name=name))], Mode.FIRST_FIT, UNLIMITED)
        for name in ("1", "2", "3")
    ]
    assert [pod.placed for pod in pods] == ["a", "b", ""]
    assert [[answer.node for answer in pod.nodes] for pod in pods] == [["a"], ["a", "b"], ["a", "b"]]


def test_first_fit_takes_the_same_steps_in_a_larger_cluster() -> None:
    """Nodes behind the first one that fits cost nothing."""

    def calls(nodes: int) -> int:
        names = [f"n-{number}" for number in range(nodes)]
        slices = [slice_of("d", "e", name=name, pool=name, nodeName=name) for name in names]
        state = cluster(*slices, nodes=[node(name) for name in names])
        state.place([Claim(claim(exactly(), name="1"))], Mode.FIRST_FIT, UNLIMITED)
        counted = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal counted
            counted += event == "call"

        # Collecting garbage calls what pytest's plugins have registered, whenever it happens to come.
        gc.disable()
        sys.setprofile(count)
        try:
            pod = state.place([Claim(claim(exactly(), name="2"))], Mode.FIRST_FIT, UNLIMITED)
        finally:
            sys.setprofile(None)
            gc.enable()
        assert pod.placed == "n-0"
        return counted

    assert calls(100) == calls(5) > 0


def test_all_nodes_keeps_nothing() -> None:
    """Every node answers, and answers the same again."""
    state = cluster(*per_node(), nodes=NODES)
    wanted = claim(exactly())
    for _ in range(2):
        pod = state.place([Claim(wanted)], Mode.ALL_NODES, UNLIMITED)
        assert [answer.result is not None for answer in pod.nodes] == [True, True]
        assert not pod.placed
    assert "status" not in wanted


def test_one_node_only() -> None:
    """A pod may be for one node."""
    pod = cluster(*per_node(), nodes=NODES).place([Claim(claim(exactly()))], Mode.FIRST_FIT, UNLIMITED, "b")
    assert pod.placed == "b"
    assert [answer.node for answer in pod.nodes] == ["b"]


def test_release() -> None:
    """What a claim held can be had again; a second release changes nothing."""
    state = cluster(slice_of("d"))
    first, second = claim(exactly(), name="1"), claim(exactly(), name="2")
    assert state.place([Claim(first)], Mode.FIRST_FIT, UNLIMITED).placed
    assert not state.place([Claim(second)], Mode.FIRST_FIT, UNLIMITED).placed
    state.release(key_of(first))
    state.release(key_of(first))
    assert state.place([Claim(second)], Mode.FIRST_FIT, UNLIMITED).placed


def test_shares_are_counted_and_released() -> None:
    """Capacity is back when the last share is gone, counters with it."""
    shared = device(
        "d",
        allowMultipleAllocations=True,
        capacity={"m": {"value": "10"}},
        consumesCounters=[draws("s", {"x": "1"})],
    )
    state = cluster(counter_slice({"s": {"x": "1"}}), slice_of(shared, "e", count=2))
    claims = [claim(exactly(capacity={"m": "4"}), name=str(index)) for index in range(3)]
    assert [bool(state.place([Claim(each)], Mode.FIRST_FIT, UNLIMITED).placed) for each in claims] == [
        True,
        True,
        False,
    ]
    state.release(key_of(claims[0]))
    assert state.place([Claim(claims[2])], Mode.FIRST_FIT, UNLIMITED).placed
    for each in claims:
        state.release(key_of(each))
    assert not state.allocated.shares
    assert not state.allocated.capacity
    assert not state.allocated.whole


def test_allocated_claim_binds_the_pod() -> None:
    """A claim that is allocated is not allocated again, and keeps the pod on its nodes."""
    state = cluster(*per_node(), nodes=NODES)
    first = state.place([Claim(claim(exactly()))], Mode.FIRST_FIT, UNLIMITED, "b").allocated
    pod = state.place([each.allocated(got) for each, got in first.items()], Mode.ALL_NODES, UNLIMITED)
    away, here = pod.nodes
    assert (away.error, away.error_kind) == ("allocated claim is not available on the node", NODE)
    assert here.result == []


@pytest.mark.parametrize(("mode", "asked"), [(Mode.FIRST_FIT, ["a"]), (Mode.ALL_NODES, ["a", "b"])])
def test_fatal_error_ends_first_fit(mode: Mode, asked: list[str]) -> None:
    """No other node is asked when the claim itself is bad."""
    pod = cluster(*per_node(), nodes=NODES).place([Claim(claim(exactly(device_class="x")))], mode, UNLIMITED)
    assert [answer.node for answer in pod.nodes] == asked
    assert pod.nodes[0].error_kind == FATAL


def test_invalid_pool_does_not_end_first_fit() -> None:
    """What is wrong with one node's pool does not concern the next."""
    state = cluster(
        slice_of("d", "d", nodeName="a"), slice_of("d", name="s2", pool="b", nodeName="b"), nodes=NODES
    )
    pod = state.place([Claim(claim(exactly()))], Mode.FIRST_FIT, UNLIMITED)
    assert (pod.nodes[0].error_kind, pod.placed) == (NODE, "b")


def mig_or_vgpu(first: str, second: str) -> list[str]:
    """Where two pods go that want the one, then the other; node b can admit both."""

    def parts(name: str, groups: dict[str, list[str]]) -> list[Object]:
        devices = [
            device(
                f"{kind}",
                attributes={"kind": kind},
                consumesCounters=[draws("s", {"m": "1"}, declared)],
            )
            for kind, declared in groups.items()
        ]
        return [
            counter_slice({"s": {"m": "2"}}, name=f"{name}-counters", pool=name, nodeName=name),
            slice_of(*devices, name=name, pool=name, count=2, nodeName=name),
        ]

    state = cluster(
        *parts("a", {"mig": ["mig"], "vgpu": ["vgpu"]}),
        *parts("b", {"mig": ["both"], "vgpu": ["both"]}),
        nodes=NODES,
    )
    return [place_kind(state, kind) for kind in (first, second)]


def place_kind(state: SchedulingState, kind: str) -> str:
    wanted = exactly(selectors=[f"device.attributes['gpu.example.com'].kind == '{kind}'"])
    return state.place([Claim(claim(wanted, name=kind))], Mode.FIRST_FIT, UNLIMITED).placed


@pytest.mark.parametrize("order", [("mig", "vgpu"), ("vgpu", "mig")])
def test_incompatible_devices_go_to_another_node(order: tuple[str, str]) -> None:
    """MIG, then vGPU, and the reverse: the second finds a node that admits it (KEP-5963)."""
    assert mig_or_vgpu(*order) == ["a", "b"]


def test_holders_count_from_the_start() -> None:
    """Claims that are allocated already hold their devices."""
    assert (
        not cluster(slice_of("d"), holders=[held("d")])
        .place([Claim(claim(exactly()))], Mode.FIRST_FIT, UNLIMITED)
        .placed
    )


def test_as_if_claims_held_nothing() -> None:
    """For a while devices, shares and counters of some claims can be had; then everything is as before."""
    shared = device("s", allowMultipleAllocations=True, capacity={"m": {"value": "10"}})
    part = device("p", consumesCounters=[draws("c", {"x": "1"})])
    slices = [counter_slice({"c": {"x": "1"}}), slice_of(shared, part, "d", count=2)]
    state = cluster(*slices)
    holders = [
        claim(
            exactly(selectors=["'m' in device.capacity['gpu.example.com']"], capacity={"m": "8"}), name="a"
        ),
        claim(exactly(count=2), name="b"),
    ]
    for each in holders:
        assert state.place([Claim(each)], Mode.FIRST_FIT, UNLIMITED).placed
    asked = [claim(exactly(capacity={"m": "8"}), name="x"), claim(exactly(count=2), name="y")]
    with state.without(["ns/a", "ns/b", "ns/gone"]):
        assert state.place([Claim(each) for each in asked], Mode.FILTER, UNLIMITED).nodes[0].fits
    assert not state.place([Claim(each) for each in asked[:1]], Mode.FILTER, UNLIMITED).nodes[0].fits
    assert not state.place([Claim(each) for each in asked[1:]], Mode.FILTER, UNLIMITED).nodes[0].fits
    for each in holders:
        state.release(key_of(each))
    assert not state.allocated.whole
    assert not state.allocated.capacity
