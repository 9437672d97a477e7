"""What API servers are told of unsuitable nodes."""

from __future__ import annotations

import pytest

from classic.unsuitable_nodes import nodes_to_check, reported
from tests.classic.scenes import context

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
