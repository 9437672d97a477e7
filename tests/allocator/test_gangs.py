"""Pods that are placed together."""

from __future__ import annotations

import pytest

from allocator.gangs import Gang, together

A, B = Gang("ns/a", 2), Gang("ns/b", 3, running=2)
BASIC = Gang("ns/basic", 1)


@pytest.mark.parametrize(
    ("gangs", "units"),
    [
        pytest.param([None, None], [[0], [1]], id="no-gangs"),
        pytest.param([A, None, A], [[1], [0, 2]], id="once-there-are-enough"),
        pytest.param([A, A, None, A], [[0, 1, 3], [2]], id="with-those-that-come-later"),
        pytest.param([A, None], [[0], [1]], id="too-few"),
        pytest.param([B, None, B], [[0, 2], [1]], id="some-on-nodes"),
        pytest.param([BASIC, None, BASIC], [[0, 2], [1]], id="basic"),
        pytest.param([A, B, A, B], [[1, 3], [0, 2]], id="two-gangs"),
    ],
)
def test_together(gangs: list[Gang | None], units: list[list[int]]) -> None:
    """A gang is tried at the turn of the pod that completes it, with all its pods."""
    assert together(gangs) == units
