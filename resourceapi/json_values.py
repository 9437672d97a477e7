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
