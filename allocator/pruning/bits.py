"""Sets of devices as integers: bit n is the nth candidate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def bits(mask: int) -> Iterator[int]:
    """The members, in order."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def lowest_bits(mask: int, count: int) -> int:
    """The first members only; all if there are no more."""
    if mask.bit_count() <= count:
        return mask
    found = 0
    for _ in range(count):
        lowest = mask & -mask
        found |= lowest
        mask ^= lowest
    return found


def union(masks: Iterable[int]) -> int:
    """All members of some sets."""
    found = 0
    for mask in masks:
        found |= mask
    return found
