"""Which GPUs claims get."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classic.gpu.inventory import MOST_CLAIMS, MOST_DEAD_ENDS, Suitability, place
from classic.gpu.parameters import GPURequirements


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
    """64 GPUs, and claims that do not fit although there is as much memory as they ask for."""
    sizes = {f"gpu-{index}": 101 + index for index in range(64)}
    wanted = [GPURequirements(51, 32)] * 5
    assert place(wanted, sizes, sizes) is None


# --- many nodes

#: Claims of which two GPUs of 16 almost have room: there are very many ways to try.
HARD = [GPURequirements(1_000 + 2 * number) for number in range(41)]
HALF = sum(each.memory or 0 for each in HARD) // 2


def halves(extra: int) -> dict[str, int]:
    """GPUs with room for half of the claims each: as the sizes are even, an odd half has no room for them."""
    return {"gpu-0": HALF + 1 + 2 * extra, "gpu-1": HALF - 1 - 2 * extra}


def dead_ends(search: Suitability) -> int:
    return MOST_DEAD_ENDS - search.dead_ends_left


def test_search_for_many_nodes_costs_little_more_than_for_one() -> None:
    search = Suitability(HARD, 128)
    assert not any(search.fits(sizes, sizes) for sizes in map(halves, range(128)))
    assert 0 < dead_ends(search) <= MOST_DEAD_ENDS + 128 * len(HARD)


def test_node_that_is_hard_to_fill_leaves_the_others_their_share() -> None:
    search = Suitability(HARD, 128)
    assert not any(search.fits(sizes, sizes) for sizes in map(halves, range(127)))
    assert search.fits({"gpu-0": HALF, "gpu-1": 2 * HALF}, {"gpu-0": HALF, "gpu-1": 2 * HALF})


def test_nodes_that_are_filled_alike_are_searched_once() -> None:
    search = Suitability(HARD, 128)
    sizes = halves(0)
    search.fits(sizes, sizes)
    cost = dead_ends(search)
    assert cost > 0
    for _ in range(127):
        search.fits(sizes, dict(zip(sizes, sizes.values(), strict=True)))
    assert dead_ends(search) == cost


def test_claims_that_ask_for_more_than_is_free_need_no_search() -> None:
    search = Suitability([*HARD, GPURequirements(1_000)], 1)
    sizes = halves(0)
    assert not search.fits(sizes, sizes)
    assert dead_ends(search) == 0


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 2)), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_nodes_are_suitable_if_their_gpus_could_be_given(
    wanted: list[tuple[int, int]], nodes: list[list[int]]
) -> None:
    claims = [GPURequirements(*each) for each in wanted]
    search = Suitability(claims, len(nodes))
    for free in nodes:
        sizes = {str(index): 8 for index in range(len(free))}
        left = dict(zip(sizes, free, strict=True))
        assert search.fits(sizes, left) == (place(claims, sizes, left) is not None)
