"""What a text of YAML may stand for: aliases and merge keys say in a few characters what takes many to hold."""

from __future__ import annotations

from documents.errors import RefusedText
from documents.tree import SCALAR, Node

FREE = 2 * 1024 * 1024
TIMES = 20
"""Aliases may add so much to any text, and so many times its length more: about what other values of that length take."""

SCALAR_WEIGHT, COLLECTION_WEIGHT = 16, 64
"""A value that is added counts as so many characters besides its own: an entry, and what an empty collection takes."""


class Expansion:
    """What the aliases of all documents of one text may add.

    :param length: that of the text, in code points.
    """

    __slots__ = ("_left",)

    def __init__(self, length: int) -> None:
        self._left = FREE + TIMES * length

    def add(self, value: Node, alias: Node) -> None:
        """Count a value that is there because of an alias.

        :raises RefusedText: if it is one too many.
        """
        self._left -= SCALAR_WEIGHT + len(value.value) if value.kind == SCALAR else COLLECTION_WEIGHT
        if self._left < 0:
            raise RefusedText(
                alias.start,
                "aliases (*name) make the file more than is read",
                "write in full what is short, and refer to less",
            )
