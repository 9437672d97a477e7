"""The comments in a part of a YAML text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from documents.errors import MalformedText
from documents.tree import MAPPING, SEQUENCE, Node

if TYPE_CHECKING:
    from documents.document import Document

_comments = re.compile(r"(?:(?<=[ \t\n])|^)#[^\n]*", re.MULTILINE).finditer


def comments_of(document: Document, *, whole: bool = False) -> list[str]:
    """The comments of a document that go with it when it is taken out of its file; none of JSON and of items of lists.

    Those above the first document of a file may be about the file, and stay with it.

    :param whole: whether these go with it, too.
    """
    chunk = document.chunk
    text = document.source.text[chunk.start : chunk.end]
    if chunk.is_json or document.item is not None or "#" not in text:
        return []
    from documents.yaml_tree import read_nodes

    try:
        root, _ = read_nodes(text if text.endswith("\n") else text + "\n")
    except MalformedText:
        return []
    if root is None:
        return []
    return list(comments_in(text, 0 if chunk.start or whole else root.start, len(text), [root]))


def comments_in_text(text: str) -> Iterator[tuple[int, str]]:
    """The comments of all YAML documents in a text that can be read, with their offsets."""
    from documents.splitting import split
    from documents.yaml_tree import read_nodes

    if "#" not in text:
        return
    for chunk in split(text):
        if chunk.is_json:
            continue
        part = text[chunk.start : chunk.end]
        try:
            root, _ = read_nodes(part if part.endswith("\n") else part + "\n")
        except MalformedText:
            continue
        for offset, comment in places_of_comments(part, 0, len(part), [] if root is None else [root]):
            yield chunk.start + offset, comment


def comments_in(text: str, start: int, end: int, nodes: Iterable[Node]) -> Iterator[str]:
    """The comments in ``text[start:end]``; see :func:`places_of_comments`."""
    return (comment for _, comment in places_of_comments(text, start, end, nodes))


def places_of_comments(text: str, start: int, end: int, nodes: Iterable[Node]) -> Iterator[tuple[int, str]]:
    """The comments in ``text[start:end]`` with their offsets.

    :param nodes: the nodes in that part, in order: a # in a scalar begins no comment.
    """
    spans = [span for node in nodes for span in _scalars(node)]
    for scalar_start, scalar_end in [*spans, (end, end)]:
        for comment in _comments(text[start:scalar_start]):
            yield start + comment.start(), comment[0].strip()
        start = max(start, scalar_end)


def _scalars(node: Node) -> Iterator[tuple[int, int]]:
    if node.kind not in (MAPPING, SEQUENCE):
        yield node.start, node.end
    for child in node.children:
        yield from _scalars(child)
