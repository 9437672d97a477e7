"""The variants of a program agree on random expressions."""

from __future__ import annotations

import random

import pytest

from tests.deviceselectors.runtime.variants import compare, compare_random

_PER_SEED = 150


@pytest.mark.parametrize("seed", range(4))
def test_variants_agree(seed: int) -> None:
    """Same value or error text, and a cost within the bound, whatever the expression and the device.

    The exact variant and the interpreter have the same cost too, and stop at any limit with the same.
    """
    assert compare_random(seed, _PER_SEED) > _PER_SEED * 0.8


def test_error_in_place_of_an_empty_list() -> None:
    """The bound holds where an argument that can only be an empty list is an error, which has a size."""
    device = {"driver": "gpu.example.com", "attributes": {}}
    assert compare("sets.intersects([7, -1], [[]][-100].map(x, x))", False, device, random.Random(1))
