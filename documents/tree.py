"""A document as a tree of nodes that know where in the text they are."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from documents.errors import RefusedText

MAX_DEPTH = 200
"""Collections inside each other; the server's own bound is 10,000, no API object comes near either."""

MAX_VALUES = 600_000
"""Values in a document that the full reader takes, aliases expanded; 3 MiB of API objects have fewer."""

SCALAR, SEQUENCE, MAPPING, ALIAS = "scalar", "sequence", "mapping", "alias"


class Node:
    """One value of a document. `start` and `end` are code-point offsets into the document's text.

    :ivar kind: SCALAR, SEQUENCE, MAPPING or ALIAS.
    :ivar value: a scalar's text, its escapes resolved; an alias's name.
    :ivar plain: whether a scalar's value follows from its looks (it has neither quotes nor a tag).
    :ivar tag: the tag as written in full, or "".
    :ivar style: how a scalar is written: "" plain, "'", '"', "|" or ">".
    :ivar children: a sequence's entries; a mapping's keys and values by turns.
    :ivar target: the node that an alias stands for.
    """

    __slots__ = ("children", "end", "kind", "plain", "start", "style", "tag", "target", "value")

    def __init__(self, kind: str, start: int, end: int, value: str = "") -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.value = value
        self.plain = False
        self.tag = ""
        self.style = ""
        self.children: Sequence[Node] = ()
        self.target: Node | None = None


class RepeatedKeys(dict[str, Any]):
    """A JSON object in whose text a key occurs more than once.

    As a dict it holds the last value of each key, which is what kubectl takes and sends to the server.
    `pairs` has all of them in order, for a decoder that answers as the server does to such a body.
    """

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def has_repeated_keys(value: Any) -> bool:
    """Whether the value is or contains a RepeatedKeys."""
    if isinstance(value, dict):
        return isinstance(value, RepeatedKeys) or any(has_repeated_keys(item) for item in value.values())
    return isinstance(value, list) and any(has_repeated_keys(item) for item in value)


def too_deep(offset: int) -> RefusedText:
    """The error about a text that is nested too deeply at an offset."""
    return RefusedText(offset, f"nested more than {MAX_DEPTH} levels deep")


def too_many(offset: int) -> RefusedText:
    """The error about a document that has too many values, at the offset of the first of them."""
    return RefusedText(offset, f"more than {MAX_VALUES:,} values in one document")


# The node tree of JSON text that is known to be valid, for positions only.

_TOKENS = r'("(?:[^"\\]|\\.)*")|([{\[])|([}\]])|([^\s{}\[\],:"]+)'


def read_json_nodes(text: str) -> Node:
    """The nodes of one JSON value that spans the text, white space around it allowed.

    :raises MalformedText: if there are too many.
    """
    children: list[Node] = []
    open_nodes: list[tuple[list[Node], Node]] = []
    for count, token in enumerate(re.finditer(_TOKENS, text)):
        if count > MAX_VALUES:
            raise too_many(token.start())
        string, opening, closing, bare = token.groups()
        if closing:
            children, ended = open_nodes.pop()
            ended.end = token.end()
            continue
        if opening:
            node = Node(MAPPING if opening == "{" else SEQUENCE, token.start(), token.end())
            children.append(node)
            open_nodes.append((children, node))
            node.children = children = []
            continue
        node = Node(SCALAR, token.start(), token.end(), json.loads(string) if string else bare)
        node.plain = not string
        node.style = '"' if string else ""
        children.append(node)
    return children[0]


# What a text of YAML may stand for: aliases and merge keys say in a few characters what takes many to
# hold.

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
