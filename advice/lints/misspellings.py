"""Names that were probably meant by others: one wrong letter apart, and in a way that people do not tell things apart by.

`gpu-a` and `gpu-b`, `gpu-1` and `gpu-2`, `sym` and `asym` are different things, `exmaple.com` is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# Of a shorter word, one letter in place of another makes another word: gpu, tpu, cpu.
_LONG_WORD = 4
_MOST_CHARACTERS = 253


class Misspellings:
    """Looks for the name that a misspelt one was meant to be; takes no longer for many names than for few."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names_by_remainder: dict[str, list[str]] = {}
        for name in names:
            for remainder in _remainders(name):
                self._names_by_remainder.setdefault(remainder, []).append(name)

    def meant_by(self, word: str) -> str:
        """The name that was meant; an empty string if none is near enough."""
        near = {
            name for remainder in _remainders(word) for name in self._names_by_remainder.get(remainder, ())
        }
        return next((name for name in sorted(near) if _is_misspelling(word, name)), "")


def _remainders(word: str) -> Iterator[str]:
    """The word, and what is left of it without one of its letters: words that are one edit apart share one of these."""
    if len(word) > _MOST_CHARACTERS:
        return
    yield word
    for index in range(len(word)):
        yield word[:index] + word[index + 1 :]


def _is_misspelling(word: str, name: str) -> bool:
    """Whether the two, which are one edit apart, differ where a difference has no meaning."""
    start = _common(word, name)
    end = _common(word[start:][::-1], name[start:][::-1])
    mine, other = word[start : len(word) - end], name[start : len(name) - end]
    if not (mine + other).strip("-_"):
        return mine != other
    around = word[start - 1 : start] + mine + other + name[len(name) - end :][:1]
    if re.search("[0-9]", around) or not (mine + other).isalpha():
        return False
    part = _part_around(name, start, len(name) - end)
    if len(mine) == len(other):  # another letter, or two letters the other way round
        return len(part) >= _LONG_WORD or (len(mine) == 2 and mine == other[::-1])
    return len(mine) + len(other) == 1 and not _begins_part(word if mine else name, start)


def _common(first: str, second: str) -> int:
    """How many characters the two have in common at their beginnings."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))


def _begins_part(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in "-_."


def _part_around(text: str, start: int, end: int) -> str:
    """The part between dashes and dots that a stretch of a name is in."""
    first = max(text.rfind(mark, 0, start) for mark in "-_.") + 1
    after = [at for mark in "-_." if (at := text.find(mark, end)) >= 0]
    return text[first : min(after, default=len(text))]
