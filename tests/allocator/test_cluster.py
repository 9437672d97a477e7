"""A cluster that follows changes: what pods find before and after each."""

from __future__ import annotations

import copy

import pytest

from allocator.scheduling import Mode, feasible_nodes
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.taints import DeviceNames, DeviceTaintRule
from tests.allocator.objects import (
    DRIVER,
    ask,
    claim,
    cluster,
    counter_slice,
    device,
    device_class,
    devices_of,
    draws,
    exactly,
    held,
    node,
    slice_of,
)

TAINT = {"key": "k", "effect": "NoSchedule"}


def own(name: str, *devices: Object | str, **spec: object) -> Object:
    """A slice of a node's own pool."""
    return slice_of(*devices, name=name, pool=name, nodeName=name, **spec)  # type: ignore[arg-type]


def rule(name: str, **selector: str) -> DeviceTaintRule:
    return DeviceTaintRule(name, DeviceNames(**selector), TAINT)


def test_slices() -> None:
    """A slice that comes, changes or goes is noticed by the next pod."""
    state = cluster()
    assert devices_of(ask(state, claim(exactly()))) is None
    state.put_slice(slice_of("d"))
    assert devices_of(ask(state, claim(exactly()))) == ["r=d"]
    state.put_slice(slice_of("e"))
    assert devices_of(ask(state, claim(exactly()))) == ["r=e"]
    state.remove_slice("slice")
    assert devices_of(ask(state, claim(exactly()))) is None


def test_a_changed_device_is_another_kind() -> None:
    """What is cached about a device is dropped when it changes."""
    state = cluster(slice_of(device("d", attributes={"x": 1})))
    wanted = claim(exactly(selectors=[f"device.attributes['{DRIVER}'].x == 1"]))
    assert devices_of(ask(state, wanted)) == ["r=d"]
    state.put_slice(slice_of(device("d", attributes={"x": 2})))
    assert devices_of(ask(state, wanted)) is None


def test_capacity_of_a_changed_device() -> None:
    """What is left of a shared device is counted from what it has now."""

    def shared(total: str) -> Object:
        return slice_of(device("d", allowMultipleAllocations=True, capacity={"m": {"value": total}}))

    state = cluster(shared("4"), holders=[held("d", shareID="s", consumedCapacity={"m": "3"})])
    wanted = claim(exactly(capacity={"m": "2"}))
    assert devices_of(ask(state, wanted)) is None
    state.put_slice(shared("5"))
    assert devices_of(ask(state, wanted)) == ["r=d"]


def test_nodes() -> None:
    """Nodes come, change and go; one that changes keeps its place."""
    zone = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["1"]}]}]}
    state = cluster(slice_of("d", nodeSelector=zone), nodes=[node("a"), node("b")])
    fitting = [
        answer.result is not None
        for answer in state.place([Claim(claim(exactly()))], Mode.ALL_NODES, UNLIMITED).nodes
    ]
    assert fitting == [False, False]
    state.put_node(node("a", {"zone": "1"}))
    state.put_node(node("c", {"zone": "1"}))
    answers = state.place([Claim(claim(exactly()))], Mode.ALL_NODES, UNLIMITED).nodes
    assert [(answer.node, answer.result is not None) for answer in answers] == [
        ("a", True),
        ("b", False),
        ("c", True),
    ]
    state.remove_node("a")
    state.remove_node("a")
    assert state.place([Claim(claim(exactly()))], Mode.FIRST_FIT, UNLIMITED).placed == "c"


def test_rules() -> None:
    """A rule taints devices that come before and after it; without it they are as they were."""
    state = cluster(own("n", "d", device("e", taints=[{"key": "own", "effect": "NoSchedule"}])))
    state.put_rule(rule("all", driver=DRIVER))
    assert devices_of(ask(state, claim(exactly()))) is None
    state.put_slice(own("n", "d", "f"))
    assert devices_of(ask(state, claim(exactly()))) is None
    state.put_rule(rule("all", driver=DRIVER, pool="n", device="d"))
    assert devices_of(ask(state, claim(exactly()))) == ["r=f"]
    state.remove_rule("all")
    state.remove_rule("all")
    assert devices_of(ask(state, claim(exactly()))) == ["r=d"]


def test_own_taints_outlive_a_rule() -> None:
    """Only what the rule added goes with it."""
    own_taint = {"key": "own", "effect": "NoSchedule"}
    state = cluster(own("n", device("d", taints=[own_taint])))
    state.put_rule(rule("r", driver=DRIVER))
    state.remove_rule("r")
    tolerant = exactly(tolerations=[{"key": "own", "operator": "Exists"}])
    assert devices_of(ask(state, claim(exactly()))) is None
    assert devices_of(ask(state, claim(tolerant))) == ["r=d"]


def test_classes() -> None:
    """A class that changes invalidates cached outcomes."""
    state = cluster(slice_of("d"))
    wanted = claim(exactly(device_class="new"))
    assert ask(state, wanted).error
    state.put_class(device_class("new"))
    assert devices_of(ask(state, wanted)) == ["r=d"]
    state.put_class(device_class("new", ["false"]))
    assert devices_of(ask(state, wanted)) is None
    state.remove_class("new")
    assert ask(state, wanted).error


def test_claims() -> None:
    """A claim counts with what it holds now; to be told of it twice, or of what was placed here, changes nothing."""
    state = cluster(slice_of("d", "e"))
    answer = state.place([Claim(claim(exactly(), name="placed"))], Mode.FIRST_FIT, UNLIMITED)
    ((placed, allocation),) = answer.allocated.items()
    state.put_claim(placed.allocated(allocation))
    assert devices_of(ask(state, claim(exactly()))) == ["r=e"]
    holder = held("e")
    state.put_claim(Claim(holder))
    state.put_claim(Claim(copy.deepcopy(holder)))
    assert devices_of(ask(state, claim(exactly()))) is None
    state.put_claim(Claim({"metadata": holder["metadata"]}))
    assert devices_of(ask(state, claim(exactly()))) == ["r=e"]
    state.remove_claim("ns", "placed")
    state.remove_claim("ns", "placed")
    assert devices_of(ask(state, claim(exactly()))) == ["r=d"]


def test_a_pool_of_many_nodes() -> None:
    """What one node takes of a shared pool, or of counters that several nodes draw from, is gone for the others."""
    nodes = [node("a"), node("b")]
    state = cluster(slice_of("d"), nodes=nodes)
    assert state.place([Claim(claim(exactly(), name="1"))], Mode.FIRST_FIT, UNLIMITED, "b").placed
    assert not state.place([Claim(claim(exactly(), name="2"))], Mode.FIRST_FIT, UNLIMITED).placed

    def part(name: str) -> Object:
        drawing = device(name, consumesCounters=[draws("s", {"x": "2"})])
        return slice_of(drawing, name=name, count=3, nodeName=name)

    state = cluster(counter_slice({"s": {"x": "3"}}, count=3), part("a"), part("b"), nodes=nodes)
    assert state.place([Claim(claim(exactly(), name="1"))], Mode.FIRST_FIT, UNLIMITED, "b").placed
    assert not state.place([Claim(claim(exactly(), name="2"))], Mode.FIRST_FIT, UNLIMITED).placed


def test_answers_are_of_the_time_of_the_question() -> None:
    """Answers may be read after the cluster has changed, and stay the same."""
    shared = device("d", allowMultipleAllocations=True, capacity={"m": {"value": "4"}})
    state = cluster(slice_of(shared, "e"), nodes=[node("a"), node("b")])
    answers = state.place([Claim(claim(exactly(count=2)))], Mode.ALL_NODES, UNLIMITED).nodes
    state.put_slice(slice_of("f"))
    state.remove_node("b")
    assert [devices_of(answer) for answer in answers] == [["r=d", "r=e"]] * 2
    assert answers[0] == answers[0]
    assert [answer.node for answer in answers[1:]] == ["b"]
    shares = [answer.result[0]["devices"]["results"][0]["shareID"] for answer in answers if answer.result]
    assert len(set(shares)) == 2


@pytest.mark.parametrize(
    ("nodes", "wanted"), [(0, 0), (1, 1), (99, 99), (100, 100), (500, 230), (5000, 500), (15000, 750)]
)
def test_feasible_nodes(nodes: int, wanted: int) -> None:
    """All of up to 100 nodes; of more a share that falls from 50 % to 5 %, but not below 100 nodes."""
    assert feasible_nodes(nodes) == wanted


def test_scheduler_goes_on_where_it_stopped() -> None:
    """Each pod is asked about the nodes after those that were asked before, and gets the first that fits."""
    names = [f"n{index:03}" for index in range(150)]
    state = cluster(*(own(name, "d") for name in names), nodes=[node(name) for name in names])
    placed, asked = [], []
    for index in range(4):
        answer = state.place([Claim(claim(exactly(), name=str(index)))], Mode.SCHEDULER, UNLIMITED)
        placed.append(answer.placed)
        asked.append(len(answer.nodes))
    assert asked == [100, 101, 102, 102]
    assert placed == ["n000", "n100", "n051", "n003"]


@pytest.mark.parametrize("mode", Mode)
def test_without_nodes(mode: Mode) -> None:
    """A cluster without nodes has no answers, however a node is chosen."""
    state = cluster(nodes=[node()])
    state.remove_node("n")
    answer = state.place([Claim(claim(exactly()))], mode, UNLIMITED)
    assert (list(answer.nodes), answer.placed) == ([], "")
