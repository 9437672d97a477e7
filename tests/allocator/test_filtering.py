"""The answers of nodes as far as a time limit lets them be found.

The clock of these tests counts how often it is looked at, as in test_limits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from random import Random
from unittest.mock import Mock

import pytest

from allocator import allocation, filtering, scheduling
from allocator.answers import NodeAnswer
from allocator.best_fit import Proposal
from allocator.demand import read_claim
from allocator.errors import AWAY, FATAL, OUT_OF_TIME
from allocator.scheduling import Mode, SchedulingState
from allocator.scheduling_outcome import SchedulingOutcome
from allocator.time_limit import UNLIMITED, TimeLimit
from resourceapi.limits import SELECTORS
from resourceapi.node_selection import selects
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from tests.allocator import scenes
from tests.allocator.objects import (
    DRIVER,
    alternative,
    claim,
    cluster,
    device,
    device_class,
    exactly,
    first_of,
    held,
    node,
    slice_of,
)
from tests.allocator.random_clusters import NODES, random_claim, random_node, random_slice

#: Checks of the time that are enough for an easy node, and for a node on which the search is hard.
EASY, HARD = 120, 3_000


def looks(number: float) -> TimeLimit:
    """A time limit that is over after a number of checks."""
    clock = count()
    return TimeLimit(number, lambda: float(next(clock)))


def on_node(slices: list[Object], name: str) -> list[Object]:
    """These slices on one node, in a pool of its own."""
    found = []
    for each in slices:
        spec = {key: value for key, value in each["spec"].items() if key != "allNodes"}
        spec |= {"nodeName": name, "pool": {**spec["pool"], "name": name}}
        found.append({"metadata": {"name": f"{name}-{each['metadata']['name']}"}, "spec": spec})
    return found


def mixed(*hard: str, easy: int = 5) -> tuple[SchedulingState, list[Object]]:
    """Nodes on which the search for the claims takes many steps, then nodes of other kinds, with too few devices."""
    scene = scenes.partitions(3, Random(1))
    slices = [part for name in hard for part in on_node(slices_of(scene, name), name)]
    names = [f"easy-{number}" for number in range(easy)]
    for number, name in enumerate(names):
        slices.append(
            slice_of(*(f"d{each}" for each in range(number + 1)), name=name, pool=name, nodeName=name)
        )
    return cluster(*slices, nodes=[node(name) for name in [*hard, *names]]), scenes.claims_of(scene)


def slices_of(scene: scenes.Scene, name: str) -> list[Object]:
    """The slices of a scene with an attribute more, so that nodes are not of one kind."""
    slices = scenes.slices_of(scene)
    for each in slices:
        for part in each["spec"].get("devices", ()):
            part["attributes"] = {**part.get("attributes", {}), "node": {"string": name}}
    return slices


def decided(answers: list[NodeAnswer]) -> list[str]:
    return [each.node for each in answers if not each.is_undecided]


@pytest.mark.parametrize("block", range(4))
def test_as_without_a_limit(block: int) -> None:
    """In random clusters, with time enough the answers are those of mode FILTER."""
    for seed in range(block * 50, (block + 1) * 50):
        draw = Random(f"filtering {seed}")
        nodes = [random_node(draw, name) for name in NODES]
        slices = {each["metadata"]["name"]: each for each in (random_slice(draw) for _ in range(6))}
        state = cluster(*slices.values(), nodes=nodes, holders=[held("d0", pool=draw.choice(NODES))])
        asked = [random_claim(draw, "c")]
        if draw.random() < 0.3:
            other = random_claim(draw, "other")
            state.place([Claim(other)], Mode.FIRST_FIT, UNLIMITED)
            asked.append(other)
        expected = state.place([Claim(each) for each in asked], Mode.FILTER, UNLIMITED)
        found = state.filter([Claim(each) for each in asked], UNLIMITED)
        assert list(map(comparable, found.nodes)) == list(map(comparable, expected.nodes))
        assert (found.outcome, found.refusal) == (expected.outcome, expected.refusal)


def comparable(answer: NodeAnswer) -> object:
    """An answer without the IDs of shares, which are random."""
    devices = None
    if answer.result is not None:
        devices = [
            [{**each, "shareID": ""} for each in result["devices"].get("results", ())]
            for result in answer.result
        ]
    return answer._replace(result=None), devices


def test_hard_node_does_not_delay_others() -> None:
    """Of a hard node and easy ones, all easy ones are decided before the time is over."""
    state, asked = mixed("hard")
    found = state.filter([Claim(each) for each in asked], looks(EASY))
    assert decided(list(found.nodes)) == [f"easy-{number}" for number in range(5)]
    first = found.nodes[0]
    assert (first.node, first.error, first.is_undecided) == ("hard", OUT_OF_TIME, True)
    assert found.outcome is SchedulingOutcome.UNDECIDED


def test_hard_node_gets_what_others_leave() -> None:
    """What the easy nodes do not need goes to the hard one, though that is more than an equal part."""
    state, asked = mixed("hard", easy=50)
    alone, _ = mixed("hard", easy=0)
    needed = next(number for number in count(10, 10) if enough(alone, asked, number))
    assert (
        len(decided(list(state.filter([Claim(each) for each in asked], looks(5 * needed + 500)).nodes))) == 51
    )


def enough(state: SchedulingState, asked: list[Object], number: int) -> bool:
    """Whether so many checks are enough on a single node."""
    return not state.filter([Claim(each) for each in asked], looks(number)).nodes[0].is_undecided


def test_hard_nodes_share_the_time() -> None:
    """Where the time is not enough for any of several hard nodes, it ends all the same."""
    state, asked = mixed("one", "two", "three")
    assert decided(list(state.filter([Claim(each) for each in asked], looks(2 * EASY)).nodes)) == [
        f"easy-{number}" for number in range(5)
    ]
    assert len(decided(list(state.filter([Claim(each) for each in asked], looks(3 * HARD)).nodes))) == 8


def test_no_time_at_all() -> None:
    """Nothing is decided, and the next question has its own time."""
    state, asked = mixed("hard", easy=2)
    assert decided(list(state.filter([Claim(each) for each in asked], looks(-1)).nodes)) == []
    assert len(decided(list(state.filter([Claim(each) for each in asked], looks(HARD)).nodes))) == 3


def test_candidates() -> None:
    """Only these nodes are asked, in their order; nodes that nobody knows have no answer."""
    state = cluster(slice_of("d"), nodes=[node(name) for name in "abc"])
    found = state.filter([Claim(claim(exactly()))], UNLIMITED, ["c", "gone", "a"])
    assert [(each.node, each.fits) for each in found.nodes] == [("c", True), ("a", True)]
    assert found.outcome is SchedulingOutcome.FITS


def test_nothing_is_kept() -> None:
    """The same question has the same answer."""
    state, asked = cluster(slice_of("d")), claim(exactly())
    for _ in range(2):
        assert state.filter([Claim(asked)], UNLIMITED).nodes[0].fits
    assert "status" not in asked


def test_refused() -> None:
    """What kube-scheduler refuses before it looks at nodes is said of each candidate."""
    state = cluster(slice_of("d"), nodes=[node("a"), node("b")])
    found = state.filter([Claim(claim(exactly(device_class="gone")))], UNLIMITED, ["b"])
    expected = state.place([Claim(claim(exactly(device_class="gone")))], Mode.FILTER, UNLIMITED, "b")
    assert (found.refusal, list(found.nodes)) == (expected.refusal, list(expected.nodes))


def test_fatal_error() -> None:
    """An error that ends the attempt has the text of each node."""
    slices = [slice_of("d", name=name, pool=name, nodeName=name) for name in "ab"]
    state = cluster(*slices, nodes=[node("a"), node("b")])
    bad = claim(exactly(selectors=[f"device.attributes['{DRIVER}'].gone == 1"]))
    found = state.filter([Claim(bad)], UNLIMITED)
    assert [each.error_kind for each in found.nodes] == [FATAL, FATAL]
    assert ["a/d" in each.error for each in found.nodes] == [True, False]
    assert found.error == found.nodes[0]


def too_many(name: str) -> Object:
    """A claim that the API server stores, and that no node can serve: 31 lists of 8 alternatives, and 33 devices."""
    lists = [
        first_of(f"r{place}", *(alternative(f"s{each}", selectors=["true"] * SELECTORS) for each in range(8)))
        for place in range(31)
    ]
    return claim(*lists, exactly("last", count=33), name=name)


@pytest.mark.parametrize("best_fit", [False, True])
def test_fatal_error_is_found_once(monkeypatch: pytest.MonkeyPatch, *, best_fit: bool) -> None:
    """What a claim asks for is read once, and its requests are looked at once, however many nodes and pods there are."""
    names = [f"n{number}" for number in range(50)]
    slices = [slice_of("d", name=name, pool=name, nodeName=name) for name in names]
    state = cluster(*slices, nodes=[node(name) for name in names])
    reads, checks = Mock(wraps=read_claim), Mock(wraps=allocation._check_claim)
    monkeypatch.setattr(scheduling, "read_claim", reads)
    monkeypatch.setattr(allocation, "_check_claim", checks)
    for name in ("one", "two"):
        found = state.filter([Claim(too_many(name))], UNLIMITED, best_fit=best_fit)
        expected = f"claim ns/{name}, request last: adding 33 devices exceeds the claim limit of 32, with 31 already accounted for"
        assert {each.error for each in found.nodes} == {expected}
        assert {each.error for each in found.nodes.outcomes} == {expected}
    assert (reads.call_count, checks.call_count) == (1, 1)


#: A claim with an error, its text with the names of claim and node, and what is said of all nodes.
TEXTS: dict[str, tuple[Callable[[str], Object], str, str]] = {
    "selector": (
        lambda name: claim(exactly(selectors=[f"device.attributes['{DRIVER}'].gone == 1"]), name=name),
        f"claim ns/CLAIM: selector #0 on device {DRIVER}/NODE/d: CEL runtime error: no such key: gone",
        "claim ns/CLAIM: selector #0: CEL runtime error: no such key: gone",
    ),
    "pool": (
        lambda name: claim(exactly(count=None), name=name),
        f"claim ns/CLAIM, request r: asks for all devices, but resource pool {DRIVER}/NODE is currently being updated",
        "claim ns/CLAIM, request r: asks for all devices, but a resource pool is currently being updated",
    ),
}


@pytest.mark.parametrize(("made", "text", "summary"), TEXTS.values(), ids=TEXTS)
def test_texts_of_one_error(made: Callable[[str], Object], text: str, summary: str) -> None:
    """They name each pod's claim, and what is on each node, though the error was found once for nodes of one kind."""
    slices = [slice_of("d", name=name, pool=name, nodeName=name) for name in "ab"]
    for each in slices:
        each["spec"]["pool"]["resourceSliceCount"] = 2 if "pool" in text else 1
    state = cluster(*slices, nodes=[node("a"), node("b")])
    for name in ("one", "two"):
        found = state.filter([Claim(made(name))], UNLIMITED).nodes
        for answer, outcome in zip(found, found.outcomes, strict=True):
            assert answer.error.startswith(text.replace("CLAIM", name).replace("NODE", answer.node))
            assert outcome.error.startswith(summary.replace("CLAIM", name))
    assert state.effort.searches == 1


def sizes(*memory: str, name: str) -> Object:
    """A node's devices of these sizes."""
    devices = [device(f"d{each}", capacity={"memory": {"value": each}}) for each in memory]
    return slice_of(*devices, name=name, pool=name, nodeName=name)


def test_best_fit() -> None:
    """Each node proposes what wastes least on it, and says how much that is."""
    state = cluster(sizes("80", "40", name="a"), sizes("80", name="b"), nodes=[node("a"), node("b")])
    found = state.filter([Claim(claim(exactly()))], UNLIMITED, best_fit=True)
    assert [each.result[0]["devices"]["results"][0]["device"] for each in found.nodes if each.result] == [
        "d40",
        "d80",
    ]
    small, large = (each for each in found.nodes.outcomes if isinstance(each, Proposal))
    assert small.waste < large.waste


def test_best_fit_out_of_time() -> None:
    """Where there is no time to look for less waste, the first solution stands."""
    state = cluster(sizes("80", "40", name="a"), classes=[device_class()], nodes=[node("a")])
    tries = (state.filter([Claim(claim(exactly()))], looks(number), best_fit=True) for number in count())
    found = next(each for each in tries if each.nodes[0].fits)
    assert not isinstance(found.nodes.outcomes[0], Proposal)


def test_selectors_of_allocated_claims_are_looked_at_once_and_within_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A driver's node selector may have thousands of requirements: nodes for which there is no time are undecided."""
    names = [f"n{place}" for place in range(50)]
    state = cluster(nodes=[node(name) for name in names])
    allocated = held("d0")
    far = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    allocated["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [far]}]}
    looked = Counter[str]()

    def counted(selector: Object, looked_at: Node) -> bool:
        looked["times"] += 1
        return selects(selector, looked_at)

    monkeypatch.setattr("allocator.pod_claims.selects", counted)
    answers = list(state.filter([Claim(allocated)], UNLIMITED).nodes)
    assert looked["times"] == len(names)
    assert [each.node for each in answers if each.error == AWAY] == [name for name in names if name != "n1"]
    looked.clear()
    answers = list(state.filter([Claim(allocated)], looks(10)).nodes)
    assert looked["times"] <= 11
    assert [each.error for each in answers][-1] == OUT_OF_TIME


def seen_by_most(number: int, version: int) -> Object:
    """A slice for all nodes but those whose number is a multiple of its own, so that nodes see different slices."""
    others = [f"gone-{version}", *(f"n{each}" for each in range(0, 120, number))]
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": others}]}
    return slice_of(
        "d",
        name=f"big-{number}",
        pool=f"big-{number}",
        driver="big.example.com",
        nodeSelector={"nodeSelectorTerms": [term]},
    )


def test_devices_that_change_all_the_time_leave_time_for_some_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the time is for what nodes see; a driver whose slices change every second left none to decide before."""
    monkeypatch.setattr(filtering, "LEAST_SECONDS", 20)
    primes = [2, 3, 5, 7, 11, 13, 17]
    names = [f"n{each}" for each in range(120)]
    slices = [slice_of("d"), *(seen_by_most(each, 0) for each in primes)]
    state = cluster(*slices, nodes=[node(name, {"kubernetes.io/hostname": name}) for name in names])
    state.warm_up()
    asked = [claim(exactly(selectors=[f'device.driver == "{DRIVER}"']))]
    for version in range(1, 6):
        state.put_slice(seen_by_most(primes[0], version))
        assert len(decided(list(state.filter([Claim(each) for each in asked], looks(80)).nodes))) > 3
    while len(found := decided(list(state.filter([Claim(each) for each in asked], looks(80)).nodes))) < 120:
        assert len(found) > 3
