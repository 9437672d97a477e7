"""Which GPUs claims get."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classic.gpu.parameters import GPURequirements
from classic.gpu.placement import MOST_CLAIMS, place


def asks(text: str) -> list[GPURequirements]:
    """``2 all 3x4``: a GPU's 2 bytes, all of a GPU, and 3 bytes of each of 4 GPUs."""
    found = []
    for word in text.split():
        memory, _, count = word.partition("x")
        found.append(GPURequirements(None if memory == "all" else int(memory), int(count or 1)))
    return found


@pytest.mark.parametrize(
    ("wanted", "free", "found"),
    [
        ("2", (8, 8), [{0: 2}]),
        ("2", (8, 2), [{1: 2}]),  # the fullest one that has room
        ("2", (8, 1), [{0: 2}]),
        ("2", (1, 1), None),
        ("2", (), None),
        ("2 2", (2, 2), [{0: 2}, {1: 2}]),
        ("2 2", (4, 3), [{1: 2}, {0: 2}]),
        ("2 2", (3, -5), None),
        ("2x2", (8, 2), [{1: 2, 0: 2}]),
        ("2x2", (8,), None),  # of two GPUs, not twice of one
        ("all", (7, 8), [{1: 8}]),
        ("all", (7, 7), None),
        ("all 2", (8, 7), [{0: 8}, {1: 2}]),
        ("2 all", (8, 8), [{1: 2}, {0: 8}]),
        ("3 3 2 2 2", (6, 6), [{0: 3}, {0: 3}, {1: 2}, {1: 2}, {1: 2}]),
        ("4 3 3", (6, 4), [{1: 4}, {0: 3}, {0: 3}]),
    ],
)
def test_claims_get_gpus_that_have_room_for_all_of_them(
    wanted: str, free: tuple[int, ...], found: list[dict[int, int]] | None
) -> None:
    sizes = {f"gpu-{index}": 8 for index in range(len(free))}
    names = dict(zip(sizes, free, strict=True))
    placed = place(asks(wanted), sizes, names)
    by_number = None if placed is None else [_by_number(each) for each in placed]
    assert by_number == found


def _by_number(taken: dict[str, int]) -> dict[int, int]:
    return {int(name.removeprefix("gpu-")): memory for name, memory in taken.items()}


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 2)), min_size=1, max_size=4),
    st.lists(st.integers(0, 8), min_size=1, max_size=3),
)
def test_claims_are_placed_if_and_only_if_there_is_a_way(
    wanted: list[tuple[int, int]], free: list[int]
) -> None:
    sizes = {str(index): 8 for index in range(len(free))}
    names = dict(zip(sizes, free, strict=True))
    claims = [GPURequirements(*each) for each in wanted]
    found = place(claims, sizes, names)
    assert (found is not None) == _can_be_placed(claims, free)
    for claim, taken in zip(claims, found or [], strict=False):
        assert list(taken.values()) == [claim.memory] * claim.count
    for name, left in names.items():
        assert sum(taken.get(name, 0) for taken in found or []) <= left


def _can_be_placed(claims: list[GPURequirements], free: list[int]) -> bool:
    """By trying every set of GPUs for every claim."""
    sets = [tuple(bits) for bits in product((0, 1), repeat=len(free))]
    return any(
        all(sum(bits) == claim.count for bits, claim in zip(choice, claims, strict=True))
        and all(
            sum(bits[gpu] * (claim.memory or 0) for bits, claim in zip(choice, claims, strict=True))
            <= free[gpu]
            for gpu in range(len(free))
        )
        for choice in product(sets, repeat=len(claims))
    )


@pytest.mark.parametrize(("claims", "fit"), [(MOST_CLAIMS, True), (MOST_CLAIMS + 1, False)])
def test_pods_with_more_claims_than_anybody_needs_count_as_not_fitting(claims: int, fit: bool) -> None:
    assert (place([GPURequirements(1)] * claims, {"gpu-0": 1000}, {"gpu-0": 1000}) is not None) == fit


def test_search_that_finds_nothing_ends() -> None:
    """64 GPUs, and claims that together are just too large."""
    sizes = {f"gpu-{index}": 101 + index for index in range(64)}
    wanted = [GPURequirements(51, 32)] * 5
    assert place(wanted, sizes, sizes) is None
