"""The variants of a program agree on random expressions."""

from __future__ import annotations

import pytest

from tests.deviceselectors.runtime.variants import compare_random

_PER_SEED = 150


@pytest.mark.parametrize("seed", range(4))
def test_variants_agree(seed: int) -> None:
    """Same value or error text, and a cost within the bound, whatever the expression and the device.

    The exact variant and the interpreter have the same cost too, and stop at any limit with the same.
    """
    assert compare_random(seed, _PER_SEED) > _PER_SEED * 0.8
