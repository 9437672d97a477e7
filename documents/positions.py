"""Where the parts of a document are in its file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from documents.errors import MalformedText
from documents.garbage import CollectorPaused
from documents.tree import ALIAS, MAPPING, SCALAR, SEQUENCE, Node, read_json_nodes

if TYPE_CHECKING:
    from documents.source import Path, Source


class Place(NamedTuple):
    """A stretch of one line of a file; all three count code points, line and column from 1.

    `exact` is False when the path asked for is not in the document, and this is the nearest part
    around it.
    """

    line: int
    column: int
    length: int
    exact: bool = True


class Positions:
    """The node tree of one document of a source, asked by path.

    :param source: the text that the document is in.
    :param start: the offset at which it begins.
    :param end: the offset at which it ends.
    :param is_json: whether it is read as JSON, not as YAML.
    """

    __slots__ = ("_members", "_origin", "_root", "_source", "_text")

    def __init__(self, source: Source, start: int, end: int, *, is_json: bool) -> None:
        self._source = source
        self._origin = start
        self._text = source.text[start:end]
        with CollectorPaused(len(self._text)):
            self._root = _nodes(self._text, is_json)
        # The pairs of the mappings seen so far, merges resolved: looked up again for every path.
        self._members: dict[int, dict[str, tuple[Node, Node]]] = {}

    def value(self, path: Path) -> Place:
        """The value at a path; its key where no value is written (`key:` alone) or the path ends early."""
        key, node, exact = self._find(path)
        if key is not None and (not exact or node.start == node.end):
            node = key
        return self._place(node, exact)

    def key(self, path: Path) -> Place:
        """The key of the last step of a path; for the root and list entries the value."""
        key, node, exact = self._find(path)
        return self._place(node if key is None else key, exact)

    def written(self, path: Path) -> str:
        """The text of the value at a path, "" if it has none or the path is missing."""
        _, node, exact = self._find(path)
        return self._text[node.start : node.end] if exact else ""

    def tag(self, path: Path) -> str:
        """The tag of the value at a path, such as ``!name``; "" if it has none or the path is missing."""
        _, node, exact = self._find(path)
        return node.tag if exact else ""

    def in_scalar(self, path: Path, offset: int, length: int) -> Place:
        """A stretch of a string's value, cut at the end of the line on which it begins."""
        _, node, exact = self._find(path)
        offsets = value_offsets(self._text, node) if exact and node.kind == SCALAR else None
        if offsets is None:
            return self.value(path)
        last = len(offsets) - 1
        first = min(max(offset, 0), last)
        begin = offsets[first]
        stop = offsets[min(first + max(length, 1), last)]
        return self._stretch(begin, max(stop, begin + 1), exact)

    def repeated_keys(self) -> list[tuple[Path, Place, Place]]:
        """Each repeated key: its path, where it is first, and where again; in the order of the text."""
        found: list[tuple[Path, Place, Place]] = []
        for path, mapping in self._mappings():
            first: dict[str, Node] = {}
            for name, key, _ in _named_pairs(mapping):
                if first.setdefault(name, key) is not key:
                    found.append(((*path, name), self._place(first[name], True), self._place(key, True)))
        return sorted(found, key=lambda entry: (entry[2].line, entry[2].column))

    def boolean_keys(self) -> list[tuple[Path, str, Place]]:
        """The keys that YAML 1.1 takes for booleans, other than true and false themselves, how and where they are written."""
        return [
            ((*path, name), key.value, self._place(key, True))
            for path, mapping in self._mappings()
            for name, key, _ in _named_pairs(mapping)
            if key.plain and name in ("true", "false") and key.value.lower() != name
        ]

    def _mappings(self) -> Iterator[tuple[Path, Node]]:
        """The mappings of the text with their paths, in its order."""
        pending: list[tuple[Path, Node]] = [((), self._root)]
        while pending:
            path, node = pending.pop()
            if node.kind == SEQUENCE:
                children = [((*path, index), child) for index, child in enumerate(node.children)]
                pending.extend(reversed(children))
            elif node.kind == MAPPING:
                yield path, node
                pairs = [((*path, name), value) for name, _, value in _named_pairs(node)]
                pending.extend(reversed(pairs))

    def _find(self, path: Path) -> tuple[Node | None, Node, bool]:
        """The key and the value at a path, or the deepest that exists on the way there."""
        key: Node | None = None
        node = self._root
        for step in path:
            inner = _target(node)
            if inner.kind == SEQUENCE and isinstance(step, int) and 0 <= step < len(inner.children):
                key, node = None, inner.children[step]
            elif inner.kind == MAPPING and step in (members := self._members_of(inner)):
                key, node = members[str(step)]
            else:
                return key, node, False
        return key, node, True

    def _members_of(self, node: Node) -> dict[str, tuple[Node, Node]]:
        members = self._members.get(id(node))
        if members is None:
            members = self._members[id(node)] = _members(node, self._members_of)
        return members

    def _place(self, node: Node, exact: bool) -> Place:
        """A scalar on its first line; a collection by its first key or entry."""
        if node.kind == MAPPING and node.children and self._text[node.start : node.start + 1] != "{":
            node = node.children[0]
        return self._stretch(node.start, max(node.end, node.start + 1), exact)

    def _stretch(self, start: int, end: int, exact: bool) -> Place:
        line_end = self._text.find("\n", start)
        if 0 <= line_end < end:
            end = max(start + len(self._text[start:line_end].rstrip()), start + 1)
        line, column = self._source.line_and_column(self._origin + start)
        return Place(line, column, end - start, exact)


def _nodes(text: str, is_json: bool) -> Node:
    """The tree of a text whose value is known; where it is too large for one, only its start."""
    try:
        if is_json:
            return read_json_nodes(text)
        from documents.yaml_tree import read_nodes

        root, _ = read_nodes(text if text[-1:] == "\n" else text + "\n")
    except MalformedText:
        root = None
    return root or Node(SCALAR, 0, 0)


def _target(node: Node) -> Node:
    return node.target if node.kind == ALIAS and node.target is not None else node


def _members(
    node: Node, members_of: Callable[[Node], dict[str, tuple[Node, Node]]]
) -> dict[str, tuple[Node, Node]]:
    """A mapping's keys with the nodes of key and value that count: the last ones, merges included."""
    from documents.yaml_values import is_merge, key_of, merge_sources

    members: dict[str, tuple[Node, Node]] = {}
    for key, value in zip(node.children[::2], node.children[1::2], strict=True):
        if is_merge(key):
            for source in merge_sources(value):
                members.update(members_of(_target(source)))
        elif (name := key_of(_target(key))) is not None:
            members[name] = (key, value)
    return members


def _named_pairs(node: Node) -> Iterator[tuple[str, Node, Node]]:
    """The pairs of a mapping with the names of their keys; without merges."""
    for key, value in zip(node.children[::2], node.children[1::2], strict=True):
        name = _key_name(key)
        if name is not None:
            yield name, key, value


def _key_name(node: Node) -> str | None:
    """The JSON key that a key's node stands for; None for a merge."""
    from documents.yaml_values import is_merge, key_of

    return None if is_merge(node) else key_of(_target(node))


# Which character of the source each character of a scalar's value comes from.

_ESCAPE_DIGITS = {"x": 2, "u": 4, "U": 8}
_BREAK = "\n"


def value_offsets(text: str, node: Node) -> list[int] | None:
    """Offsets into the text, one for each code point of the scalar's value and one for its end.

    None where the value cannot be traced, which is never the case for a scalar as libyaml reads it
    from text with ordinary line breaks.
    """
    offsets: list[int] = []
    found: list[str] = []
    for offset, character in _pieces(text, node):
        offsets.append(offset)
        found.append(character)
    if "".join(found) != node.value:
        return None
    offsets.append(_end(text, node, offsets))
    return offsets


def _end(text: str, node: Node, offsets: list[int]) -> int:
    if node.style in ("'", '"'):
        return node.end - 1
    return offsets[-1] + 1 if offsets else node.start


def _pieces(text: str, node: Node) -> Iterator[tuple[int, str]]:
    if node.style in ("|", ">"):
        return _block(text, node)
    if node.style:
        return _flow(text, node.start + 1, node.end - 1, node.style)
    return _flow(text, node.start, node.end, "")


def _flow(text: str, start: int, end: int, quote: str) -> Iterator[tuple[int, str]]:
    """Plain and quoted scalars: line breaks fold to a space, n + 1 of them to n line feeds."""
    at = start
    while at < end:
        character = text[at]
        if character == "\\" and quote == '"':
            value, after = _escape(text, at)
            for letter in value:
                yield at, letter
            at = after
        elif character == "'" and quote == "'":
            yield at, character
            at += 2
        elif character in " \t\r\n" and (folded := _fold(text, at, end)) is not None:
            value, after = folded
            for letter in value:
                yield at, letter
            at = after
        else:
            yield at, character
            at += 1


def _fold(text: str, at: int, end: int) -> tuple[str, int] | None:
    """What blanks with line breaks among them become, and where they end; None if there is no break."""
    after = at
    while after < end and text[after] in " \t\r\n":
        after += 1
    breaks = text.count("\n", at, after)
    if not breaks:
        return None
    return (" " if breaks == 1 else _BREAK * (breaks - 1)), after


def _escape(text: str, at: int) -> tuple[str, int]:
    """The value of the escape sequence at an offset, and where it ends."""
    letter = text[at + 1]
    digits = _ESCAPE_DIGITS.get(letter)
    if digits:
        return _numbered(text, at, digits)
    if letter in "\r\n":
        after = at + (3 if text[at + 1 : at + 3] == "\r\n" else 2)
        blanks = re.compile(r"[ \t\r\n]*").match(text, after)
        end = blanks.end() if blanks else after
        return _BREAK * text.count("\n", after, end), end
    named = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f"}
    named |= {"r": "\r", "e": "\x1b", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}
    return named.get(letter, letter), at + 2


def _numbered(text: str, at: int, digits: int) -> tuple[str, int]:
    after = at + 2 + digits
    code = int(text[at + 2 : after], 16)
    if 0xD800 <= code < 0xDC00 and text[after : after + 2] == "\\u":  # JSON writes a pair
        low = int(text[after + 2 : after + 6], 16)
        if 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), after + 6
    return chr(code), after


def _block(text: str, node: Node) -> Iterator[tuple[int, str]]:
    """Literal and folded scalars: the header line is passed, the indentation taken off."""
    header_end = text.find("\n", node.start)
    if header_end < 0:
        return
    lines = _block_lines(text, header_end + 1, node)
    value = node.value
    position = 0
    for start, end in lines:
        # Follow the value: a line's characters, and its break where the value has kept one.
        for offset in range(start, end):
            if position < len(value) and value[position] == text[offset]:
                yield offset, value[position]
                position += 1
        if position < len(value) and value[position] in " \n":
            yield end, value[position]
            position += 1


def _block_lines(text: str, start: int, node: Node) -> list[tuple[int, int]]:
    """Begin and end of the content of each line of a block scalar, its indentation left out."""
    lines: list[tuple[int, int]] = []
    while start < len(text) and (start < node.end or not lines):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        lines.append((start, end - 1 if text[end - 1 : end] == "\r" else end))
        start = end + 1
    depth = _depth(text, node, lines)
    return [(min(begin + depth, end), end) for begin, end in lines]


def _depth(text: str, node: Node, lines: list[tuple[int, int]]) -> int:
    """How far the scalar is indented: as its first line with text, or the value's own spaces tell."""
    for begin, end in lines:
        content = text[begin:end].lstrip(" ")
        if content:
            own = node.value.lstrip("\n")
            return end - begin - len(content) - (len(own) - len(own.lstrip(" ")))
    return 0
