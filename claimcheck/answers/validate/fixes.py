"""Fixes of mistakes in a text, where there is but one way to fix them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from advice.hints.hint import changed
from claimcheck.answers.convert import rewritten
from documents import Document, DocumentError, parse
from resourceapi.manifests import MISSING

if TYPE_CHECKING:
    from advice.findings import Finding
    from resourceapi.field_errors import Path


class Fixed(NamedTuple):
    """A document with its new value, and how many mistakes are fixed in it."""

    document: Document
    value: dict[str, Any]
    mistakes: int


def fixed(document: Document, findings: Iterable[Finding]) -> Fixed:
    """The object without mistakes that are fixed independently of each other."""
    value, count = document.value, 0
    touched: list[Path] = []
    for finding in findings:
        paths = list(_touched(finding))
        if not paths or any(_meet(path, other) for path in paths for other in touched):
            continue
        value = changed(value, finding.changes)
        touched += paths
        count += 1
    return Fixed(document, value, 0 if value == document.value else count)


def text_with(changes: Sequence[Fixed]) -> str:
    """The text of these documents, all of one file, with their new values and all comments.

    :raises DocumentError: if a comment has no place any more, or it cannot be rewritten.
    """
    first = changes[0].document
    text = rewritten(first.source.text, [(each.document, each.value) for each in changes])
    found = {
        (each.index, each.item): each.value for each in parse(text, first.file) if isinstance(each, Document)
    }
    if any(found.get((each.document.index, each.document.item)) != each.value for each in changes):
        raise DocumentError(first.file, 0, 0, "this file cannot be rewritten")
    return text


def _touched(finding: Finding) -> Iterable[Path]:
    """The paths that a fix changes; of an entry that is taken out of a list the list."""
    for path, new in finding.changes:
        yield path[:-1] if new is MISSING and path and isinstance(path[-1], int) else path


def _meet(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
