"""Classes of characters in regular expressions, and which characters differ by case only, as Go's unicode has them.

A class is a tuple of ranges of code points, each from its first to its last, in order and apart from each other. The
tables in `character_classes.json` are those of Go 1.26 (Unicode 15.0): neither Python's nor RE2's are of one version.
"""

from __future__ import annotations

import functools
import json
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Ranges = tuple[tuple[int, int], ...]

MAX_RUNE = 0x10FFFF
ANY: Ranges = ((0, MAX_RUNE),)
NOT_LINE_FEED: Ranges = ((0, 9), (11, MAX_RUNE))
_ASCII: Ranges = ((0, 0x7F),)

_DIGIT: Ranges = ((0x30, 0x39),)
_SPACE: Ranges = ((9, 10), (12, 13), (0x20, 0x20))
_WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
PERL = {"d": _DIGIT, "s": _SPACE, "w": _WORD}
POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": _ASCII,
    "blank": ((9, 9), (0x20, 0x20)),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": _DIGIT,
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((9, 13), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": _WORD,
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}
_ASCII_FOLDED: Ranges = (*_ASCII, (0x17F, 0x17F), (0x212A, 0x212A))


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Any ranges as a class."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            if last > merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return tuple(merged)


def negated(ranges: Ranges) -> Ranges:
    """All characters that are not in the class."""
    rest, start = [], 0
    for first, last in ranges:
        if start < first:
            rest.append((start, first - 1))
        start = last + 1
    if start <= MAX_RUNE:
        rest.append((start, MAX_RUNE))
    return tuple(rest)


@functools.cache
def _tables() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "character_classes.json").read_text("utf-8"))  # type: ignore[no-any-return]


@functools.cache
def _orbits() -> tuple[list[int], dict[int, tuple[int, ...]]]:
    """The characters that have others which differ by case only, in order, and those others with themselves."""
    orbits = {character: tuple(orbit) for orbit in _tables()["orbits"] for character in orbit}
    return sorted(orbits), orbits


def cased_characters(ranges: Ranges) -> int:
    """How many characters of the class have others that differ by case only."""
    cased, _ = _orbits()
    return sum([bisect_right(cased, last) - bisect_right(cased, first - 1) for first, last in ranges])


@functools.lru_cache(maxsize=256)
def folded(ranges: Ranges) -> Ranges:
    """The class with all that differs from its characters by case only."""
    cased, orbits = _orbits()
    more: list[tuple[int, int]] = list(ranges)
    for first, last in ranges:
        for character in cased[bisect_right(cased, first - 1) : bisect_right(cased, last)]:
            more += [(other, other) for other in orbits[character]]
    return union(more)


def _unpack(numbers: list[int]) -> Ranges:
    ranges, position = [], 0
    for gap, length in zip(numbers[::2], numbers[1::2], strict=True):
        first = position + gap
        position = first + length
        ranges.append((first, position))
    return tuple(ranges)


def named(name: str, fold: bool) -> Ranges | None:
    r"""The class of `\p{name}`, with what differs by case only if `fold`; None when there is none of the name.

    Upper and lower case, blanks, dashes and underscores in the name do not matter.
    """
    return _named(_canonical(name), fold)


@functools.lru_cache(maxsize=256)
def _named(name: str, fold: bool) -> Ranges | None:
    if name == "Any":
        return ANY
    if name == "Ascii":
        return _ASCII_FOLDED if fold else _ASCII
    tables = _tables()
    if name == "Assigned":
        return negated(_unpack(tables["categories"]["Cn"]))
    key = "LC" if name == "Lc" else name
    kind, folds = "categories", "foldCategories"
    if key not in tables[kind]:
        kind, folds = "scripts", "foldScripts"
        if key not in tables[kind]:
            key = _aliases().get(key, "")
            kind, folds = "categories", "foldCategories"
            if not key:
                return None
    ranges = _unpack(tables[kind][key])
    more = tables[folds].get(key) if fold else None
    return union([*ranges, *_unpack(more)]) if more else ranges


@functools.cache
def _aliases() -> dict[str, str]:
    return {_canonical(name): category for name, category in _tables()["aliases"].items()}


def _canonical(name: str) -> str:
    letters = name.translate({0x5F: None, 0x2D: None, 0x20: None})
    # only ASCII letters change their case
    first, rest = letters[:1], letters[1:]
    first = first.upper() if first.isascii() else first
    return first + "".join([c.lower() if c.isascii() else c for c in rest])
