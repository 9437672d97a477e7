"""Pods placed in order or as a batch, what is left of the devices, and new nodes for the rest."""

from __future__ import annotations

from random import Random

import pytest

from allocator.expansion import Expansion, Template, expand
from allocator.fitting.fragmentation import (
    GroupFragmentation,
    PartitionFragmentation,
    ShareFragmentation,
    fragmentation,
)
from allocator.packing import pack
from allocator.scheduling import Mode, SchedulingState
from allocator.simulation import MODES, UNHURRIED, Placement, Pod, Simulation
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.mig import ARRIVALS, LAYOUTS, gpus, pods, wanted
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

ROOT, ADDRESS = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/pciBusID"


def pod(name: str, *requests: Object, closed: frozenset[str] = frozenset()) -> Pod:
    """A pod with one claim of its own."""
    return Pod(name, {f"ns/{name}": Claim(claim(*requests, name=name))}, closed)


def nodes(*placements: Placement) -> list[str]:
    return [each.node for each in placements]


def three_devices() -> SchedulingState:
    slices = [
        slice_of("d0", name="a", pool="a", nodeName="n1"),
        slice_of("d0", "d1", name="b", pool="b", nodeName="n2"),
    ]
    return cluster(*slices, nodes=[node("n1"), node("n2")])


@pytest.mark.parametrize("family", LAYOUTS)
def test_perfect_batches(family: str) -> None:
    """Pods that fill all GPUs exactly are all placed, in whatever order they come."""
    for arrival in ARRIVALS:
        profiles = wanted(16, LAYOUTS[family], arrival, Random(f"batch {family}"))
        asked = pods(profiles)
        placements = pack(Simulation(gpus(4, 4), UNHURRIED), asked)
        assert all(each.node for each in placements)
        assert [each.pod for each in placements] == [each.name for each in asked]


def test_large_ones_first() -> None:
    """A batch begins with what is hardest to place."""
    asked = [
        pod("a", exactly()),
        pod("b", exactly()),
        pod("two", exactly(count=2)),
        pod("none", exactly(count=9)),
    ]
    simulation = Simulation(cluster(*_two_and_one(), nodes=[node("n2"), node("n3")]), UNHURRIED)
    assert nodes(*simulation.run(asked, Mode.FIRST_FIT)) == ["n2", "n2", "", ""]
    simulation.reset()
    assert nodes(*pack(simulation, asked[1:])) == ["n3", "n2", ""]


def _two_and_one() -> list[Object]:
    return [
        slice_of("d0", "d1", name="b", pool="b", nodeName="n2"),
        slice_of("d0", name="c", pool="c", nodeName="n3"),
    ]


def test_reset() -> None:
    """Pods that are removed leave the cluster as it was."""
    simulation = Simulation(three_devices(), UNHURRIED)
    asked = [pod("p", exactly(count=2))]
    for _ in range(2):
        assert nodes(*simulation.run(asked, Mode.FIRST_FIT)) == ["n2"]
        simulation.reset()
    assert not asked[0].claims["ns/p"].is_allocated


def test_shared_claims() -> None:
    """Pods with the same claim share its devices, and so its node."""
    shared = claim(exactly(count=2), name="shared")
    asked = [Pod(name, {"ns/shared": Claim(shared)}) for name in ("p", "q")]
    placements = Simulation(three_devices(), UNHURRIED).run(
        [*asked, pod("r", exactly(count=2))], Mode.FIRST_FIT
    )
    assert nodes(*placements) == ["n2", "n2", ""]
    assert [len(each.results) for each in placements] == [1, 0, 0]


def test_closed_nodes() -> None:
    """A pod does not go where it must not."""
    asked = [pod("p", exactly(), closed=frozenset(("n1",)))]
    assert nodes(*Simulation(three_devices(), UNHURRIED).run(asked, Mode.FIRST_FIT)) == ["n2"]


def test_errors() -> None:
    """What the allocator finds wrong with a pod's claims is said."""
    placement = Simulation(three_devices(), UNHURRIED).place(
        pod("p", exactly(device_class="missing")), Mode.FIRST_FIT
    )
    assert not placement.node
    assert (
        'could not retrieve device class missing: deviceclass.resource.k8s.io "missing" not found'
        in placement.error
    )


@pytest.mark.parametrize("mode", MODES.values())
def test_missing_class(mode: Mode) -> None:
    """For a class that does not exist, kube-scheduler looks at no node, and says which request names it."""
    listed = first_of("f", alternative("a"), alternative("b", device_class="missing"))
    placement = Simulation(three_devices(), UNHURRIED).place(
        pod("p", exactly(), listed, closed=frozenset(("n1",))), mode
    )
    assert not placement.node
    assert not placement.error
    assert placement.reason == "0/2 nodes are available: request f/b: device class missing does not exist."


def test_left_partitions() -> None:
    """Per kind of partition: what could be placed, what all that is free would suffice for, and an empty cluster."""
    state = gpus(1, 2)
    for gpu in range(2):
        state.hold(Claim(held(f"gpu-{gpu}-3g-40gb-0", pool="node-00", name=f"h{gpu}")))
    rest = fragmentation(state.pools(UNLIMITED), state.allocated)
    assert [each[1:] for each in rest.partitions] == [
        ("7g.80gb", 0, 1, 2, 0),
        ("4g.40gb", 0, 2, 2, 0),
        ("3g.40gb", 2, 2, 4, 2),
        ("2g.20gb", 2, 4, 6, 2),
        ("1g.10gb", 6, 8, 14, 2),
        ("1g.20gb", 4, 4, 8, 2),
    ]
    assert PartitionFragmentation._fields[2:] == ("placeable", "sufficient", "whole", "sets")


def test_left_groups() -> None:
    """Topology groups: how many there are, how many nobody uses, how large the largest rest is; an address makes no group."""
    devices = [
        device(f"{name}{index}", attributes={ROOT: name, ADDRESS: f"{name}{index}"})
        for name in "abc"
        for index in range(2)
    ]
    state = cluster(slice_of(*devices), holders=[held("a0", "a1", "b0")])
    rest = fragmentation(state.pools(UNLIMITED), state.allocated)
    assert rest.groups == [
        GroupFragmentation(DRIVER, "", 1, 0, 6, 3, 3),
        GroupFragmentation(DRIVER, ROOT, 3, 1, 6, 3, 2),
    ]


def test_left_shares() -> None:
    """Shared devices: what is free of each capacity, in all and in one."""
    shared = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "80"}}}
    used = held("a", shareID="share", consumedCapacity={"memory": "60"})
    state = cluster(slice_of(device("a", **shared), device("b", **shared)), holders=[used])
    assert fragmentation(state.pools(UNLIMITED), state.allocated).shares == [
        ShareFragmentation(DRIVER, "memory", 2, 160, 100, 80)
    ]


def template(name: str, *devices: Object | str) -> Template:
    return Template(node(name), (slice_of(*devices, name=name, pool=name, nodeName=name),))


def expansion(asked: list[Pod], *templates: Template) -> Expansion:
    return expand(three_devices, asked, templates, Mode.FIRST_FIT)


def test_no_new_nodes() -> None:
    """Where all pods fit there is nothing to add."""
    found = expansion([pod("p", exactly())], template("t", "d"))
    assert nodes(*found.placements) == ["n1"]
    assert found.options == []


def test_fewest_new_nodes() -> None:
    """As few nodes as will do, also where the order of the pods would waste some."""
    asked = [pod("two", exactly(count=2)), pod("one", exactly())]
    small = [pod(f"s{index}", exactly()) for index in range(2)]
    large = [pod(f"l{index}", exactly(count=3)) for index in range(2)]
    found = expansion([*asked, *small, *large], template("t", "d0", "d1", "d2", "d3"))
    assert [dict(way.nodes) for way in found.options] == [{"t": 2}]
    assert not found.options[0].left


def test_better_alternatives_first() -> None:
    """Of two ways the one with the preferred alternative comes first, though it takes more nodes."""
    asked = [
        pod(
            f"p{index}", exactly(name="x", count=2), first_of("r", _of_model("good", 1), _of_model("poor", 2))
        )
        for index in range(2)
    ]
    good = template("good", "x0", "x1", device("g", attributes={"model": 1}))
    poor = template(
        "poor",
        *(f"x{index}" for index in range(4)),
        *(device(f"p{index}", attributes={"model": 2}) for index in range(2)),
    )
    found = expand(lambda: cluster(nodes=[]), asked, [poor, good], Mode.FIRST_FIT)
    assert [(dict(way.nodes), way.rank) for way in found.options] == [({"good": 2}, 0), ({"poor": 1}, 2)]


def _of_model(name: str, model: int) -> Object:
    own = f"device.attributes['{DRIVER}']"
    return alternative(name, selectors=[f"'model' in {own} && {own}.model == {model}"])


def test_several_kinds_of_nodes() -> None:
    """Pods that need different nodes get a way with both."""
    asked = [pod("p", exactly(selectors=[_model(1)])), pod("q", exactly(selectors=[_model(2)]))]
    templates = [template(f"t{model}", device("d", attributes={"model": model})) for model in (1, 2)]
    found = expand(lambda: cluster(nodes=[]), asked, templates, Mode.FIRST_FIT)
    assert [(dict(way.nodes), list(way.left)) for way in found.options] == [
        ({"t1": 1, "t2": 1}, []),
        ({"t1": 1}, ["q"]),
        ({"t2": 1}, ["p"]),
    ]


def _model(number: int) -> str:
    return f"device.attributes['{DRIVER}'].model == {number}"


def test_pods_that_no_node_helps() -> None:
    """A pod that does not even fit on an empty new node is left over, and no node is added for it."""
    found = expansion([pod("p", exactly(count=9))], template("t", "d"))
    assert [(dict(way.nodes), list(way.left)) for way in found.options] == [({"t": 0}, ["p"])]


def test_new_nodes_are_closed_as_well() -> None:
    """A new node is for a pod only if the pod's spec lets it go there."""
    asked = [
        Pod("p", {"ns/p": Claim(claim(exactly(count=3), name="p"))}, spec={"nodeSelector": {"zone": "a"}})
    ]
    slices = (slice_of("d0", "d1", "d2", name="t", pool="t", nodeName="t"),)
    found = expansion(
        asked, Template(node("t", {"zone": "b"}), slices), Template(node("u", {"zone": "a"}), slices)
    )
    assert [(dict(way.nodes), list(way.left)) for way in found.options] == [({"u": 1}, []), ({"t": 0}, ["p"])]


def test_classes_are_needed() -> None:
    """The class of a request is the cluster's; a template brings none."""
    state = cluster(classes=[device_class("other")], nodes=[])
    found = expand(lambda: state, [pod("p", exactly())], [template("t", "d")], Mode.FIRST_FIT)
    assert [list(way.left) for way in found.options] == [["p"]]
