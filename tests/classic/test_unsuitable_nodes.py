"""What API servers are told of unsuitable nodes."""

from __future__ import annotations

import json

import pytest

from classic.controller import MOST_CHARACTERS, nodes_to_check, reported, with_unsuitable_nodes
from classic.driver import ClaimAllocation
from tests.classic.scenes import claim, context, resource_class

MANY = [f"node-{number}" for number in range(129)]


@pytest.mark.parametrize(
    ("unsuitable", "selected", "expected"),
    [
        pytest.param(["b", "a"], "", ["b", "a"], id="in the driver's order"),
        pytest.param(["a", "a"], "", ["a"], id="once"),
        pytest.param(["a", "x"], "", ["a"], id="without those that were not asked about"),
        pytest.param(MANY[:128], MANY[0], MANY[:128], id="at most 128"),
        pytest.param(MANY, "", MANY[1:], id="cut to 128"),
        pytest.param(MANY, MANY[128], MANY[1:], id="cut to 128 with the selected one at the end"),
        pytest.param(MANY, MANY[0], [MANY[0], *MANY[2:]], id="cut to 128 with the selected one in front"),
        pytest.param(MANY, "b", MANY[1:], id="the selected one is suitable"),
    ],
)
def test_reported(unsuitable: list[str], selected: str, expected: list[str]) -> None:
    found = reported(unsuitable, ["a", "b", *MANY], selected)
    assert (found, len(found) <= 128) == (expected, True)


@pytest.mark.parametrize(
    ("potential", "selected", "expected"),
    [
        (["a", "b"], "", ["a", "b"]),
        (["a", "b"], "b", ["a", "b"]),
        (["a", "b"], "c", ["a", "b", "c"]),
        ([], "c", ["c"]),
        ([], "", []),
    ],
)
def test_nodes_to_check(potential: list[str], selected: str, expected: list[str]) -> None:
    assert nodes_to_check(context(potential=potential, selected=selected)) == expected


def told(pod_claims: int, nodes: list[str]) -> list[list[str]]:
    """What is told of so many claims of a pod, all of which have the same unsuitable nodes."""
    allocation = ClaimAllocation("", claim(), resource_class(), unsuitable_nodes=nodes)
    named = [(f"claim-{number}", allocation) for number in range(pod_claims)]
    found = with_unsuitable_nodes(context(potential=nodes), named, nodes)
    assert found is not None
    assert with_unsuitable_nodes(found, named, nodes) is None
    return [each.get("unsuitableNodes", []) for each in found["status"]["resourceClaims"]]


def test_long_names_are_told_once_if_the_status_would_be_too_large() -> None:
    long_names = [f"{number:0253}" for number in range(128)]
    found = told(256, long_names)
    assert found == [long_names, *[[]] * 255]
    assert len(json.dumps(found)) < MOST_CHARACTERS
    assert told(8, long_names) == [long_names] * 8


def test_a_pod_with_very_many_claims_takes_no_time() -> None:
    """Seconds were minutes when each claim was compared with each other one."""
    assert told(100_000, ["a"])[-1] == ["a"]


def test_what_other_drivers_have_told_stays() -> None:
    before = {**context(potential=["a"]), "status": {"resourceClaims": [{"name": "other"}, {"name": "gpu"}]}}
    allocation = ClaimAllocation("", claim(), resource_class(), unsuitable_nodes=["a"])
    found = with_unsuitable_nodes(before, [("gpu", allocation)], ["a"])
    assert found is not None
    assert found["status"]["resourceClaims"] == [{"name": "other"}, {"name": "gpu", "unsuitableNodes": ["a"]}]
