"""A quick reader for the YAML that manifests are mostly written in.

`read_block_style` knows only a part of YAML: block mappings and sequences, keys that are plain words,
scalars and flow collections that end on their line, literal blocks. In that part a line says by itself
what it is, so one pass over the lines is enough and costs a fraction of a full parser. At the first sign
of anything else (a continued scalar, an escape, an anchor, a tag, a tab, a repeated key, bad indentation)
it gives up, and the caller asks the full reader (`documents.yaml_tree`), which also words the errors.
Giving up is always safe; an answer must be what the full reader gives: the tests compare the two.
"""

from __future__ import annotations

import re
from typing import Any

from documents.scalars import (
    NUMBER_START,
    WORDS,
    UnrepresentableNumber,
    json_float,
    json_integer,
    resolve_plain,
)

MAX_DEPTH = 64
MAX_LINES = 300_000
MAX_SCALAR = 10_000
"""Deeper nesting and longer texts are left to the full reader, which has the bounds that users are told."""


class NotBlockStyle(Exception):
    """The text has something that only the full reader understands."""


# Of every line: indent, the dashes of sequence entries, quote and name of a key, the rest.
_rows = re.compile(
    r"""^( *)((?:-(?: +|$)){0,16})(?:(["']?)([A-Za-z_][A-Za-z0-9_./-]{0,250})\3:(?: +|$))?(.*)$""",
    re.MULTILINE,
).findall
_dashes = re.compile("- *").findall
_single_quoted = re.compile(r"'((?:[^']|'')*)' *(?: #.*)?").fullmatch
_double_quoted = re.compile(r'"([^"\\]*)" *(?: #.*)?').fullmatch
_flow_text = re.compile(r"""([\[{])([^][{}#]*)([]}]) *(?: #.*)?""").fullmatch
_flow_scalar = re.compile(r""" *(?:"([^"\\,]*)"|'([^',]*)'|([A-Za-z0-9_./][A-Za-z0-9_./ -]*)) *""").fullmatch
_flow_pair = re.compile(r""" *(["']?)([A-Za-z_][A-Za-z0-9_./-]{0,250})\1: +(.+)""").fullmatch
_PLAIN_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_/()$^.+~<=0123456789")

_MAPPING, _SEQUENCE = False, True

_MAX_KNOWN, _LONGEST_KNOWN = 4096, 100
_known_scalars: dict[str, Any] = {}
_UNKNOWN = object()


def read_block_style(text: str) -> Any:
    """The JSON value of one YAML document.

    :raises NotBlockStyle: where the full reader has to decide.
    """
    # Python's printable characters are all that YAML allows but for tabs and rare spaces; line feeds aside.
    if not text.replace("\n", "").isprintable() or text.count("\n") > MAX_LINES:
        raise NotBlockStyle
    try:
        return _Reader(text).read()
    except UnrepresentableNumber:
        raise NotBlockStyle from None


class _Reader:
    """The collections that are open, innermost last, while the lines go by."""

    __slots__ = ("holder", "holder_indent", "lines", "next_row", "root", "slot", "stack", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[str] = []
        self.next_row = 0
        self.root: list[Any] = [None]
        self.stack: list[tuple[int, bool, Any]] = []
        # Where the next deeper collection goes: a key without value yet, an empty sequence entry, the root.
        self.holder: Any = self.root
        self.slot: Any = 0
        self.holder_indent = -1

    def read(self) -> Any:
        rows = _rows(self.text)
        at, count = 0, len(rows)
        # Most keys go to the mapping that the key before went to.
        mapping: dict[str, Any] | None = None
        mapping_column = 0
        while at < count:
            indent, dashes, _, key, rest = rows[at]
            at += 1
            column = len(indent)
            if dashes:
                column = self._enter_sequences(column, dashes)
                mapping = None
            if key:
                if mapping is None or column != mapping_column:
                    mapping, mapping_column = self._collection_at(column, _MAPPING), column
                if key in mapping or key in WORDS:
                    raise NotBlockStyle
                if rest and rest[0] != "#":
                    value = _known_scalars.get(rest, _UNKNOWN)
                    if value is _UNKNOWN:
                        self.next_row = at
                        value = self._scalar(rest, column)
                        at = self.next_row
                    mapping[key] = value
                else:
                    mapping[key] = None
                    self.holder, self.slot, self.holder_indent = mapping, key, column
                    mapping = None
            elif not rest or rest[0] == "#":
                continue
            elif dashes:
                self.next_row = at
                self._fill(self._scalar(rest, column - 1))
                at = self.next_row
            else:
                self._document_start(indent + rest)
        return self.root[0]

    def _document_start(self, rest: str) -> None:
        if self.stack or re.fullmatch("--- *(?: #.*)?", rest) is None:
            raise NotBlockStyle

    def _enter_sequences(self, column: int, dashes: str) -> int:
        """Adds an entry for each dash; gives the column behind the last one."""
        for dash in _dashes(dashes) if len(dashes) > 2 else (dashes,):
            entries = self._collection_at(column, _SEQUENCE)
            entries.append(None)
            self.holder, self.slot, self.holder_indent = entries, -1, column
            column += len(dash)
        return column

    def _collection_at(self, column: int, kind: bool) -> Any:
        """The collection that a key or dash at this column belongs to, opened if it begins here."""
        stack = self.stack
        holder = self.holder
        if holder is not None:
            indent = self.holder_indent
            self.holder = None
            if column > indent or (column == indent and kind and type(holder) is dict):
                if len(stack) >= MAX_DEPTH:
                    raise NotBlockStyle
                collection: Any = [] if kind else {}
                holder[self.slot] = collection
                stack.append((column, kind, collection))
                return collection
        while stack:
            top, top_kind, collection = stack[-1]
            if top == column and top_kind is kind:
                return collection
            # A mapping's key closes the sequence that sits at the same column.
            if top < column or (top == column and not top_kind):
                raise NotBlockStyle
            stack.pop()
        raise NotBlockStyle

    def _fill(self, value: Any) -> None:
        self.holder[self.slot] = value
        self.holder = None

    def _scalar(self, rest: str, indent: int) -> Any:
        first = rest[0]
        if first in _PLAIN_START:
            return _remembered(rest, _plain(rest))
        if len(rest) > MAX_SCALAR:
            raise NotBlockStyle
        if first == '"':
            matched = _double_quoted(rest)
            if matched:
                return _remembered(rest, matched[1])
        elif first == "'":
            matched = _single_quoted(rest)
            if matched:
                return matched[1].replace("''", "'")
        elif first in "[{":
            return _flow_collection(rest)
        elif first == "-" and rest[1:2].isdigit():
            return _plain(rest)
        elif rest == "|" or rest == "|-":
            return self._literal_block(indent, rest == "|")
        raise NotBlockStyle

    def _literal_block(self, parent: int, keep_last_break: bool) -> str:
        """The lines deeper than their parent, which all must be as deep as the first one."""
        lines = self.lines = self.lines or self.text.split("\n")
        start = at = self.next_row
        count = len(lines)
        if at == count:
            raise NotBlockStyle
        depth = len(lines[at]) - len(lines[at].lstrip(" "))
        if depth <= max(parent, 0) or depth == len(lines[at]):
            raise NotBlockStyle
        prefix = " " * depth
        while at < count and (lines[at].startswith(prefix) or not lines[at]):
            at += 1
        end = at
        while not lines[end - 1]:
            end -= 1
        if not lines[end - 1].strip(" ") or (at < count and not lines[at].strip(" ")):
            raise NotBlockStyle
        self.next_row = at
        text = "\n".join([line[depth:] for line in lines[start:end]])
        return text + "\n" if keep_last_break else text


def _remembered(rest: str, value: Any) -> Any:
    """A scalar's value, kept for the same rest of another line: most values in manifests come again and again."""
    if len(rest) <= _LONGEST_KNOWN:
        if len(_known_scalars) >= _MAX_KNOWN:
            _known_scalars.clear()
        _known_scalars[rest] = value
    return value


def _plain(rest: str) -> Any:
    """The value of a plain scalar that is the rest of its line, a comment cut off."""
    comment = rest.find(" #")
    text = (rest if comment < 0 else rest[:comment]).rstrip(" ")
    if ": " in text or text[-1] == ":":
        raise NotBlockStyle
    if text[0] in NUMBER_START:
        number = resolve_plain(text)
        if type(number) is int:
            return json_integer(number)
        return json_float(number) if type(number) is float else number
    return WORDS.get(text, text)


def _flow_collection(rest: str) -> Any:
    """A flow sequence or mapping of plain words and simple quoted strings, without nesting."""
    matched = _flow_text(rest)
    if matched is None:
        raise NotBlockStyle
    opening, inside, closing = matched.groups()
    if (opening == "[") is not (closing == "]"):
        raise NotBlockStyle
    items = inside.split(",") if inside.strip(" ") else []
    if opening == "[":
        return [_flow_item(item) for item in items]
    mapping: dict[str, Any] = {}
    for item in items:
        pair = _flow_pair(item)
        if pair is None or pair[2] in mapping or pair[2] in WORDS:
            raise NotBlockStyle
        mapping[pair[2]] = _flow_item(pair[3])
    return mapping


def _flow_item(item: str) -> Any:
    matched = _flow_scalar(item)
    if matched is None:
        raise NotBlockStyle
    double, single, plain = matched.groups()
    if plain is None:
        return single if double is None else double
    return _plain(plain)
