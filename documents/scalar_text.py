"""Which character of the source each character of a scalar's value comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from documents.tree import Node

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
