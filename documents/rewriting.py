"""A source's text with some of its documents changed, and without others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from documents.editing import edit, leading_comments

if TYPE_CHECKING:
    from documents.document import Document
    from documents.source import Source
    from documents.splitting import Chunk

_separator_line = re.compile(r"---[^\n]*(?:\n|\Z)").match


def rewrite(
    source: Source,
    changes: Iterable[tuple[Document, dict[str, Any]]],
    dropped: Iterable[Document] = (),
    *,
    keeps_comments: bool = False,
    above: Mapping[int, Sequence[str]] | None = None,
    wholes: Mapping[int, dict[str, Any]] | None = None,
) -> str:
    """The source's text with new values for some of its documents (or items of its lists), and without others.

    :param keeps_comments: see :func:`edit`.
    :param above: comments that are written above changed documents, by where their chunks start.
    :param wholes: new values of documents that are lists, by where their chunks start; their items may change as well.
    """
    edits: dict[int, _ChunkEdit] = {}
    for document, value in changes:
        edits.setdefault(document.chunk.start, _ChunkEdit(document.chunk)).change(document, value)
    for document in dropped:
        edits.setdefault(document.chunk.start, _ChunkEdit(document.chunk)).drop(document)
    for start, whole in (wholes or {}).items():
        edits[start].whole = whole
    pieces = []
    position = 0
    for start in sorted(edits):
        changed = edits[start]
        end = changed.chunk.end
        pieces.append(source.text[position:start])
        if changed.is_dropped:
            rest, position = _cut(source.text, changed.chunk)
            pieces.append(rest)
            if position == len(source.text):
                pieces = [_without_last_separator("".join(pieces))]
        else:
            text = source.text[start:end]
            text = changed.edited(text, keeps_comments=keeps_comments)
            pieces.append(_with_comments(text, (above or {}).get(start, ())))
            position = end
    return "".join([*pieces, source.text[position:]])


class _ChunkEdit:
    """What becomes of one document of a text, or of the items of one that is a list."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.is_dropped = False
        self.whole: dict[str, Any] = chunk.value
        self._items: dict[int, dict[str, Any] | None] = {}

    def change(self, document: Document, value: dict[str, Any]) -> None:
        if document.item is None:
            self.whole = value
        else:
            self._items[document.item] = value

    def drop(self, document: Document) -> None:
        if document.item is None:
            self.is_dropped = True
        else:
            self._items[document.item] = None

    def edited(self, text: str, *, keeps_comments: bool) -> str:
        """The text of the document as it is afterwards: items change first, and fall away then."""
        is_json = self.chunk.is_json
        if not self._items:
            return edit(text, self.whole, is_json, keeps_comments=keeps_comments)
        items = [self._items.get(index) or item for index, item in enumerate(self.whole["items"])]
        kept = [item for index, item in enumerate(items) if self._items.get(index, item) is not None]
        if len(kept) == len(items) or not is_json:
            text = edit(text, {**self.whole, "items": items}, is_json, keeps_comments=keeps_comments)
        return text if len(kept) == len(items) else edit(text, {**self.whole, "items": kept}, is_json)


def _cut(text: str, chunk: Chunk) -> tuple[str, int]:
    """What stays of a document that is dropped, the comment above the first one, and where the next one begins."""
    separator = _separator_line(text, chunk.end)
    kept = ""
    if chunk.start == 0 and not chunk.is_json:
        comments = [line for line in leading_comments(text[: chunk.end]) if not line.startswith("---")]
        kept = "\n".join(comments).strip("\r\n")
    return kept + "\n" if kept else "", separator.end() if separator else chunk.end


def _with_comments(text: str, comments: Sequence[str]) -> str:
    """The text of a document with further comments above its first line."""
    if not comments or text.startswith("{"):
        return text
    lines = text.split("\n")
    at = len(leading_comments(text))
    end = "\r" if "\r\n" in text else ""
    return "\n".join([*lines[:at], *(comment + end for comment in comments), *lines[at:]])


def _without_last_separator(text: str) -> str:
    """The text without the separator of a document that is no longer behind it."""
    lines = text.splitlines(keepends=True)
    while lines and (not lines[-1].strip() or _separator_line(lines[-1], 0)):
        if lines.pop().strip():
            break
    return "".join(lines)
