"""Which word was meant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi.phrases import edits, nearest

NAMES = ("name", "deviceClassName", "selectors", "allocationMode", "count", "cel", "tolerations", "kind")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("deviceclassname", "deviceClassName"),
        ("device_class_name", "deviceClassName"),
        ("deviceClassNam", "deviceClassName"),
        ("selector", "selectors"),
        ("slectors", "selectors"),
        ("alocationMdoe", "allocationMode"),
        ("cuont", "count"),
        ("Kind", "kind"),
        ("cell", "cel"),
        ("names", "name"),
        ("nam", "name"),
        ("cle", "cel"),
        ("cal", ""),
        ("ce", ""),
        ("cost", ""),
        ("", ""),
        ("x" * 1000, ""),
    ],
)
def test_nearest(word: str, meant: str) -> None:
    """Case, separators and plural do not matter; the longer the word, the more letters may be off."""
    assert nearest(word, NAMES) == meant


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("gpu.acme", "gpu.acme.io"),
        ("gpu.acme.io.v2", "gpu.acme.io"),
        ("gpu", "gpu.acme.io"),
        ("gpu.ac", ""),
        ("nic", ""),
        ("acme.io", ""),
    ],
)
def test_labels_at_the_end(word: str, meant: str) -> None:
    """Whole labels may be missing or too many at the end, if that leaves one name."""
    assert nearest(word, ("gpu.acme.io", "nic.acme.io", "nic.example.com")) == meant


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [
        ("", "", 0),
        ("abc", "abc", 0),
        ("abc", "acb", 1),
        ("abc", "abcd", 1),
        ("abc", "xbc", 1),
        ("abcd", "xyzw", 3),
    ],
)
def test_edits(first: str, second: str, count: int) -> None:
    """Insertions, deletions, replacements and swaps; beyond the limit it does not matter how many."""
    assert edits(first, second, 2) == count
    assert edits(second, first, 2) == count


def test_few_letters_are_compared() -> None:
    """Each with those that may still be its match: as many comparisons as letters times edits, not as the product of lengths."""
    compared = 0

    class Letter(str):
        __slots__ = ()

        def __ne__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__ne__(self, other)

        __hash__ = str.__hash__

    class Word(str):
        __slots__ = ()

        def __iter__(self) -> Iterator[str]:
            return map(Letter, str.__iter__(self))

    assert edits(Word("x" * 100), "x" * 99 + "y", 2) == 1
    assert 100 <= compared <= 500


@given(st.text("abc", max_size=9), st.text("abc", max_size=9), st.integers(0, 2))
def test_edits_are_those_without_a_limit(first: str, second: str, limit: int) -> None:
    """Up to the limit; beyond it one more."""
    assert edits(first, second, limit) == min(edits(first, second, 99), limit + 1)
