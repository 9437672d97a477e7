"""How much memory a JSON text takes when it is read, told from its bytes before that, as they come."""

from __future__ import annotations

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
