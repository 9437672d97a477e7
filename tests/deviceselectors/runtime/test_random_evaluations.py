"""Random expressions have the same outcome with and without counting, and keep to limits and bounds of cost."""

from __future__ import annotations

import random

import pytest

from tests.deviceselectors.runtime.random_evaluations import check, check_random

_PER_SEED = 150


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(seed: int) -> None:
    """Same value or error text, a cost within its bound, and no evaluation that goes on beyond a limit."""
    assert check_random(seed, _PER_SEED) > _PER_SEED * 0.8


def test_error_in_place_of_an_empty_list() -> None:
    """The bound holds where an argument that can only be an empty list is an error, which has a size."""
    device = {"driver": "gpu.example.com", "attributes": {}}
    assert check("sets.intersects([7, -1], [[]][-100].map(x, x))", False, device, random.Random(1))
