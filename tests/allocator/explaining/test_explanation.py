"""What an explanation says where the allocator gives up, the time is over, or a claim is allocated already."""

from __future__ import annotations

from typing import Any

import pytest

from allocator import allocation
from allocator.errors import SearchLimitError
from allocator.explaining.explanation import MISFIT, UNDECIDED, explain
from allocator.explaining.holders import Holder, held_by, holder, released
from allocator.explaining.snapshot import ClusterContent, Snapshot
from allocator.explaining.steps import NodeView
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.time_limit import UNLIMITED, TimeLimit
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.objects import (
    ALL_FEATURES,
    DRIVER,
    alternative,
    claim,
    device,
    device_class,
    exactly,
    first_of,
    held,
    node,
    slice_of,
)


def snapshot(*holders: Object) -> Snapshot:
    """One node with two devices."""
    return Snapshot(
        ALL_FEATURES,
        ClusterContent([node()], {"any": device_class()}, [slice_of("d0", "d1")], map(Claim, holders)),
        time_limit=UNLIMITED,
    )


def test_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is concluded from a search that was given up."""

    def give_up(*arguments: Any) -> bool:
        raise SearchLimitError

    monkeypatch.setattr(allocation, "solve", give_up)
    found = explain(snapshot(held("d0")), [Claim(claim(exactly(count=9)))], UNLIMITED)
    assert found.verdict == UNDECIDED
    assert (found.conflict, found.conflicts, found.remedies, found.never) == (None, [], [], None)


def counted(looks: int) -> TimeLimit:
    """Time for so many looks at the clock."""
    clock = iter(range(1_000_000))
    return TimeLimit(looks, lambda: float(next(clock)))


def test_no_time() -> None:
    """When the time is over, the verdict is there, and that more could be said."""
    found = explain(snapshot(), [Claim(claim(exactly(count=3)))], time_limit=counted(9))
    assert (found.verdict, found.complete, found.remedies) == (MISFIT, False, [])


def test_no_time_at_all() -> None:
    """Without a verdict nothing is said but that."""
    found = explain(snapshot(), [Claim(claim(exactly(count=3)))], time_limit=counted(0))
    assert (found.verdict, found.complete, found.answers) == (UNDECIDED, False, [])


@pytest.mark.parametrize("count", [1, 3])
def test_time_may_end_anywhere(count: int) -> None:
    """Also while the node is chosen of those on which a pod fits, which was an error."""
    nodes = [node(name) for name in "ab"]
    slices = [slice_of("d0", "d1", name=name, nodeName=name, pool=name) for name in "ab"]
    here = Snapshot(
        ALL_FEATURES, ClusterContent(nodes, {"any": device_class()}, slices, ()), time_limit=UNLIMITED
    )
    for looks in range(200):
        found = explain(here, [Claim(claim(exactly(count=count)))], time_limit=counted(looks))
        if found.verdict != UNDECIDED and found.complete:
            return
    raise AssertionError("never finished")


def test_answers_of_nodes_take_no_room() -> None:
    """Thousands of pods may fit on thousands of nodes: what they would get is kept for the one that is told."""
    shared = snapshot()
    one, other = (explain(shared, [Claim(claim(exactly(), name=name))], UNLIMITED) for name in ("a", "b"))
    assert one.fitting == other.fitting == ["n"]
    assert one.answers[0] is other.answers[0]
    assert one.answers[0].result == []
    assert one.placed is not None
    assert one.placed.result


def test_own_claims_stay() -> None:
    """An allocated claim of the pod itself is not among those whose release is suggested."""
    own = held("d0", name="own")
    found = explain(snapshot(own, held("d1", name="other")), [Claim(own), Claim(claim(exactly()))], UNLIMITED)
    assert found.verdict == MISFIT
    assert [each.subject for each in found.remedies if each.kind == "release"] == ["ns/other"]


def test_totals() -> None:
    """Devices that several nodes reach are counted once in the cluster."""
    nodes = [node("n1"), node("n2")]
    shared = Snapshot(
        ALL_FEATURES,
        ClusterContent(nodes, {"any": device_class()}, [slice_of("d0", "d1")], [Claim(held("d0"))]),
        time_limit=UNLIMITED,
    )
    found = explain(shared, [Claim(claim(exactly(count=2)))], UNLIMITED)
    assert [each[1:] for each in found.totals] == [(2, 2, 1, 0)]
    assert [kind.nodes for kind in found.kinds] == [("n1", "n2")]


def test_closest_node() -> None:
    """The nodes that lack the fewest devices come first, whatever share of a request these are."""
    slices = [
        slice_of(device("h0", attributes={"model": "h"}), name="n0", pool="n0", nodeName="n0"),
        slice_of(
            *(device(name, attributes={"model": "g"}) for name in ("g0", "g1")),
            name="n1",
            pool="n1",
            nodeName="n1",
        ),
    ]
    nodes = Snapshot(
        ALL_FEATURES,
        ClusterContent([node("n0"), node("n1")], {"any": device_class()}, slices),
        time_limit=UNLIMITED,
    )
    of_model = f"device.attributes['{DRIVER}'].model == '%s'"
    requests = [
        exactly("g", count=2, selectors=[of_model % "g"]),
        exactly("h", selectors=[of_model % "h"]),
    ]
    found = explain(nodes, [Claim(claim(*requests))], UNLIMITED)
    assert [kind.nodes for kind in found.kinds] == [("n1",), ("n0",)]


def test_the_closest_node_has_devices_of_the_class() -> None:
    """Of nodes on which no device matches, those come first whose devices pass more rules, not those with more devices."""
    of_class = f"'model' in device.attributes['{DRIVER}']"
    slices = [
        slice_of("other-0", "other-1", name="n0", pool="n0", nodeName="n0"),
        slice_of(device("g0", attributes={"model": "g"}), name="n1", pool="n1", nodeName="n1"),
    ]
    nodes = Snapshot(
        ALL_FEATURES,
        ClusterContent([node("n0"), node("n1")], {"any": device_class(selectors=[of_class])}, slices),
        time_limit=UNLIMITED,
    )
    wanted = exactly("h", selectors=[f"device.attributes['{DRIVER}'].model == 'h'"])
    found = explain(nodes, [Claim(claim(wanted))], UNLIMITED)
    assert [kind.nodes for kind in found.kinds] == [("n1",), ("n0",)]


@pytest.mark.parametrize(
    ("counts", "names"),
    [
        pytest.param({"n1": 1, "n2": 2, "n3": 3}, ("n2", "r/two"), id="better-alternative-on-a-later-node"),
        pytest.param({"n1": 2, "n2": 2}, ("n1", "r/two"), id="the-first-of-equals"),
        pytest.param({"n1": 1, "n2": 1}, ("n1", "r/one"), id="last-alternative-everywhere"),
    ],
)
def test_preferred_node(counts: dict[str, int], names: tuple[str, str]) -> None:
    """Of the nodes that fit, the first with the best alternatives is named, as kube-scheduler scores them."""
    slices = [
        slice_of(*(f"d{index}" for index in range(count)), name=name, pool=name, nodeName=name)
        for name, count in counts.items()
    ]
    nodes = Snapshot(
        ALL_FEATURES,
        ClusterContent([node(name) for name in counts], {"any": device_class()}, slices),
        time_limit=UNLIMITED,
    )
    found = explain(
        nodes, [Claim(claim(first_of("r", alternative("two", 2), alternative("one"))))], UNLIMITED
    )
    assert found.placed is not None
    assert found.placed.result is not None
    taken = found.placed.result[0]["devices"]["results"][0]["request"]
    assert (found.placed.node, taken) == names
    assert found.fitting == list(counts)


def unlike(count: int) -> Snapshot:
    """One node with devices that all differ in an attribute."""
    devices = [device(f"d{index}", attributes={"index": index, "model": "l4"}) for index in range(count)]
    return Snapshot(
        ALL_FEATURES,
        ClusterContent([node()], {"any": device_class()}, [slice_of(*devices)]),
        time_limit=UNLIMITED,
    )


def test_reasons_of_devices_that_all_differ() -> None:
    """What tells devices apart but is not looked at does not matter, and what is looked at is summed up."""
    model = f"device.attributes['{DRIVER}'].model == 'h100'"
    index = f"device.attributes['{DRIVER}'].index >= 100"
    for selector, reason in (
        (model, 'model is "l4"; wanted "h100"'),
        (index, "index is 0, 1, 2, 3 and 96 others; wanted >= 100"),
        (
            f"{model} || {index}",
            f'model is "l4"; wanted "h100", and {"index is 0, 1, 2, 3 and 96 others"}; wanted >= 100',
        ),
    ):
        found = explain(unlike(100), [Claim(claim(exactly(selectors=[selector])))], UNLIMITED)
        (rejected,) = found.kinds[0].requests[0].steps[-1].rejected
        assert (rejected.devices, rejected.reason) == (100, reason)


def test_reasons_take_bounded_time() -> None:
    """When the time is over, it is only said that devices do not match."""
    outcomes = SelectorOutcomes(UNLIMITED, counted(4))
    snapshot = unlike(5)
    view = NodeView(snapshot, "n", outcomes)
    asked = snapshot.demand(
        [Claim(claim(exactly(selectors=[f"device.attributes['{DRIVER}'].index > 9"])))], UNLIMITED
    )
    rejected = view.steps(asked[0].requests[0].alternatives[0]).steps[-1].rejected
    assert [each.devices for each in rejected] == [1, 4]
    assert rejected[1].reason == "does not match (the devices are too many and too different to say why)"


def test_nodes_are_alike_in_what_is_said() -> None:
    """Nodes with the same causes for the same numbers are one kind, whose values and holders are those of all."""
    models = {"n1": "l4", "n2": "l4", "n3": "a100"}
    slices = [
        slice_of(device("d0", attributes={"model": model}), name=name, pool=name, nodeName=name)
        for name, model in models.items()
    ]
    nodes = Snapshot(
        ALL_FEATURES,
        ClusterContent([node(name) for name in models], {"any": device_class()}, slices),
        time_limit=UNLIMITED,
    )
    found = explain(
        nodes,
        [Claim(claim(exactly(selectors=[f"device.attributes['{DRIVER}'].model == 'h100'"])))],
        UNLIMITED,
    )
    (kind,) = found.kinds
    assert kind.nodes == ("n1", "n2", "n3")
    (rejected,) = kind.requests[0].steps[-1].rejected
    assert (rejected.devices, rejected.reason) == (
        1,
        'model is "l4" on 2 devices, "a100" on 1; wanted "h100"',
    )


@pytest.mark.parametrize(
    ("status", "metadata", "text", "ended"),
    [
        pytest.param(
            {"reservedFor": [{"resource": "pods", "name": "p"}]},
            {},
            "pod ns/p (claim c)",
            "pod ns/p ended, which uses claim c",
            id="pod",
        ),
        pytest.param(
            {"reservedFor": [{"resource": "pods", "name": name} for name in "abcde"]},
            {},
            "claim ns/c (pods ns/a, ns/b, ns/c and 2 others)",
            "pods ns/a, ns/b, ns/c, ns/d, ns/e ended, which use claim c",
            id="shared-claim",
        ),
        pytest.param(
            {},
            {"ownerReferences": [{"kind": "Pod", "name": "owner"}]},
            "pod ns/owner (claim c)",
            "pod ns/owner ended, which uses claim c",
            id="claim-of-a-template",
        ),
        pytest.param(
            {}, {}, "claim ns/c (used by no pod)", "claim ns/c were deleted, which no pod uses", id="unused"
        ),
        pytest.param(
            {"reservedFor": [{"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g"}]},
            {},
            "claim ns/c (PodGroup ns/g)",
            "PodGroup ns/g ended, which use claim c",
            id="pod-group",
        ),
    ],
)
def test_holders(status: Object, metadata: Object, text: str, ended: str) -> None:
    """Who holds devices is named down to the pod, and what has to happen for them to be free."""
    held_claim = {"metadata": {"namespace": "ns", "name": "c", **metadata}, "status": status}
    found = holder(Claim(held_claim))
    assert (found.text, released([found])) == (text, ended)


def test_holders_are_few() -> None:
    """Of many holders the first are named; the others are counted."""
    many = [Holder(f"ns/c{index}", (f"ns/p{index}",)) for index in range(12)]
    by_claim = {each.claim: each for each in many}
    assert held_by(list(by_claim), by_claim) == "12 pods: ns/p0, ns/p1, ns/p2 and 9 others"
    assert released(many).endswith("ns/p6, ns/p7 and 4 others ended, which use 12 claims")
    unused = {f"ns/c{index}": Holder(f"ns/c{index}") for index in range(5)}
    assert held_by(list(unused), unused) == "claims ns/c0, ns/c1, ns/c2 and 2 others (used by no pod)"
