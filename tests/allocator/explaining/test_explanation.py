"""What an explanation says where the allocator gives up, the time is over, or a claim is allocated already."""

from __future__ import annotations

from typing import Any

import pytest

from allocator import allocation
from allocator.errors import SearchLimitError
from allocator.explaining.explanation import MISFIT, UNDECIDED, explain
from allocator.explaining.snapshot import Snapshot
from allocator.time_limit import TimeLimit
from resourceapi.objects import Object
from tests.allocator.objects import (
    ALL_FEATURES,
    alternative,
    claim,
    device_class,
    exactly,
    first_of,
    held,
    node,
    slice_of,
)


def snapshot(*holders: Object) -> Snapshot:
    """One node with two devices."""
    return Snapshot(ALL_FEATURES, [node()], {"any": device_class()}, [slice_of("d0", "d1")], holders)


def test_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is concluded from a search that was given up."""

    def give_up(*arguments: Any) -> bool:
        raise SearchLimitError

    monkeypatch.setattr(allocation, "solve", give_up)
    found = explain(snapshot(held("d0")), [claim(exactly(count=9))])
    assert found.verdict == UNDECIDED
    assert (found.conflict, found.conflicts, found.remedies, found.never) == (None, [], [], None)


def counted(looks: int) -> TimeLimit:
    """Time for so many looks at the clock."""
    clock = iter(range(1_000_000))
    return TimeLimit(looks, lambda: float(next(clock)))


def test_no_time() -> None:
    """When the time is over, the verdict is there, and that more could be said."""
    found = explain(snapshot(), [claim(exactly(count=3))], time_limit=counted(3))
    assert (found.verdict, found.complete, found.remedies) == (MISFIT, False, [])


def test_no_time_at_all() -> None:
    """Without a verdict nothing is said but that."""
    found = explain(snapshot(), [claim(exactly(count=3))], time_limit=counted(0))
    assert (found.verdict, found.complete, found.answers) == (UNDECIDED, False, [])


def test_own_claims_stay() -> None:
    """An allocated claim of the pod itself is not among those whose release is suggested."""
    own = held("d0", name="own")
    found = explain(snapshot(own, held("d1", name="other")), [own, claim(exactly())])
    assert found.verdict == MISFIT
    assert [each.subject for each in found.remedies if each.kind == "release"] == ["ns/other"]


def test_totals() -> None:
    """Devices that several nodes reach are counted once in the cluster."""
    nodes = [node("n1"), node("n2")]
    shared = Snapshot(ALL_FEATURES, nodes, {"any": device_class()}, [slice_of("d0", "d1")], [held("d0")])
    found = explain(shared, [claim(exactly(count=2))])
    assert [each[1:] for each in found.totals] == [(2, 2, 1, 0)]
    assert [kind.nodes for kind in found.kinds] == [("n1", "n2")]


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
    nodes = Snapshot(ALL_FEATURES, [node(name) for name in counts], {"any": device_class()}, slices)
    found = explain(nodes, [claim(first_of("r", alternative("two", 2), alternative("one")))])
    assert found.placed is not None
    assert found.placed.result is not None
    taken = found.placed.result[0]["devices"]["results"][0]["request"]
    assert (found.placed.node, taken) == names
    assert found.fitting == list(counts)
