"""Which word was meant."""

from __future__ import annotations

import pytest

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
        ("nam", ""),
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
