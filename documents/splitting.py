"""Cuts a source's text into the documents that kubectl sees in it.

A text that begins with `{` is first read as JSON, value after value. When that fails at the first or
second value, the rest is taken for YAML, unless it is too short; a later failure is an error. YAML is cut at the lines that
begin with `---`, whatever they are part of; such a line may go on with a comment only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from documents.errors import MalformedText, RefusedText
from documents.garbage import CollectorPaused

if TYPE_CHECKING:
    from documents.positions import Positions

_separators = re.compile(r"^---([^\n]*)(?:\n|\Z)", re.MULTILINE).finditer
_line_blanks = re.compile(r"([^\S\n]*)\n?").match


class Chunk:
    """One document of a text: `text[start:end]`.

    :ivar is_json: whether it has been read as JSON.
    :ivar value: its value; None for an empty document, and before it has been read.
    :ivar is_simple: whether the reader of plain block style has understood it.
    :ivar positions: where its parts are; worked out when they are first needed.
    :ivar error: why it cannot be read; its offset counts from the start of the text.
    :ivar json_error: for a text that looked like JSON, why it is not.
    """

    __slots__ = ("end", "error", "is_json", "is_simple", "json_error", "positions", "start", "value")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self.is_json = False
        self.is_simple = False
        self.value: Any = None
        self.error: MalformedText | None = None
        self.json_error: MalformedText | None = None
        self.positions: Positions | None = None

    def first_content(self, text: str) -> int:
        """The offset of the first line in the chunk that is more than a comment or a separator."""
        matched = re.compile(r"(?:[ \t]*(?:#[^\n]*|---[^\n]*)?\r?\n)*[ \t]*").match(
            text, self.start, self.end
        )
        return matched.end() if matched else self.start


def split(text: str) -> Iterator[Chunk]:
    """The documents of a text in order, empty ones among them."""
    if text[:1] == "{" or text.lstrip()[:1] == "{":
        return _json_then_yaml(text)
    if text.find("---") < 0:
        return iter((Chunk(0, len(text)),))
    return _yaml_documents(text, 0)


def _json_then_yaml(text: str) -> Iterator[Chunk]:
    from documents.json_text import read_value, skip_blanks

    position = 0
    count = 0
    while (start := skip_blanks(text, position)) < len(text):
        chunk = Chunk(start, len(text))
        try:
            with CollectorPaused(len(text) - start):
                chunk.value, chunk.end = read_value(text, start)
        except MalformedText as error:
            behind = _behind_line_blanks(text, position)
            if count > 1 or behind is None or isinstance(error, RefusedText):
                chunk.error = error
                yield chunk
                return
            rest = _yaml_documents(text, behind)
            for following in rest:
                following.json_error = error
                yield following
                break
            yield from rest
            return
        chunk.is_json = True
        count += 1
        position = chunk.end
        yield chunk


def _behind_line_blanks(text: str, position: int) -> int | None:
    """Behind the white space from here on, but no further than the start of the next line.

    kubectl looks at four bytes at a time: where fewer are left, it reads no YAML, for which there is None.
    """
    blanks = _line_blanks(text, position)
    assert blanks is not None
    last = blanks.end(1)  # where the line feed is, or what follows
    return blanks.end() if len(text[last : last + 4].encode("utf-8", "surrogatepass")) >= 4 else None


def _yaml_documents(text: str, start: int) -> Iterator[Chunk]:
    content = start
    for separator in _separators(text, start):
        if separator.start() > start:
            if separator.start() > content:
                yield Chunk(start, separator.start())
            start = separator.end()
        # Else the separator opens the document that follows, and belongs to it, as for kubectl.
        content = separator.end()
        rest = separator[1].strip()
        if rest and rest[0] != "#":
            wrong = Chunk(separator.start(), separator.end())
            hint = "a separator line is --- alone; the document begins on the next line"
            wrong.error = MalformedText(separator.start(), f"invalid Yaml document separator: {rest}", hint)
            yield wrong
            start = separator.end()
    if content < len(text):
        yield Chunk(start, len(text))
