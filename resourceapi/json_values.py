"""The values of JSON text, and what bounds them.

Plain Python values, except where they would lose what the server reports: an object with repeated keys is a
:class:`Members`, a number that is not simply an integer is a :class:`Number`.
"""

from __future__ import annotations

from typing import Any

from resourceapi.go_text import Literal

MAX_DEPTH = 10_000
MAX_INT_DIGITS = 4000  # somewhat less than Python reads


class JSONError(ValueError):
    """Text that is no JSON; the message is the server's."""


class Number(Literal):
    """A number as it is written (``1.0``, ``1e2``)."""

    __slots__ = ()


class Members(dict[str, Any]):
    """An object in which a key is repeated; ``pairs`` are its members in order, the ``dict`` has the last of each."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def is_deeper(value: object, levels: int) -> bool:
    """Whether lists and objects are nested over more levels."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        if not level:
            return False
        level = [
            member
            for each in level
            for member in (each.values() if isinstance(each, dict) else each)
            if isinstance(member, (dict, list))
        ]
    return bool(level)


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object from its members in order."""
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else Members(pairs)


def last_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object from its members in order; the last of each key counts."""
    return dict(pairs)


# How much memory a JSON text takes when it is read, told from its bytes before that, as they come.

# Each value but the first, and each key, stands right after one of them.
_BEFORE_VALUES = (b"{", b"[", b",", b":")
# First bytes (UTF-8) of characters that make a Python text take four bytes for each of its characters.
_WIDE = tuple(bytes([first]) for first in range(0xF0, 0xF5))
# Most for one value or key, with its place in a list or an object: a key that no other object has, say, or a
# list in a list. Keys that are repeated need more, where all of their values are kept.
VALUE_BYTES = 160


def most_values(text: bytes) -> int:
    """How many values and keys a JSON text, or a part of it, has at most.

    What a string has of the characters that stand before values counts as well.
    """
    return sum(map(text.count, _BEFORE_VALUES))


class JSONMemory:
    """An estimate for a text that comes in parts."""

    __slots__ = ("_size", "_values", "_width")

    def __init__(self) -> None:
        self._size = 0
        self._values = 1
        self._width = 1

    def add(self, part: bytes) -> None:
        """Some more bytes of the text."""
        self._size += len(part)
        self._values += most_values(part)
        if self._width < 4 and not part.isascii():
            self._width = 4 if any(first in part for first in _WIDE) else 2

    @property
    def bytes(self) -> int:
        """The text as it came and decoded, and its values."""
        return self._size * (1 + self._width) + self._values * VALUE_BYTES
