"""A file that is migrated, and what of it `kubectl apply` can take."""

from __future__ import annotations

from typing import NamedTuple

from documents import Document, DocumentError, parse
from documents.finding import KUSTOMIZE
from resourceapi.manifests import text
from resourceapi.recognition import is_manifest


class File(NamedTuple):
    """A file before and after; empty for one of which nothing is left."""

    name: str
    text: str
    migrated: str


def applicable(content: str, name: str) -> str:
    """The documents of a text that are manifests, or that nobody can read: no empty ones, no kustomizations."""
    parts: dict[int, str] = {}
    is_whole = True
    for found in parse(content, name):
        if isinstance(found, DocumentError):
            return content
        if _is_applied(found):
            parts[found.chunk.start] = content[found.chunk.start : found.chunk.end]
        elif found.item is None:
            is_whole = False
    if is_whole and "\n---" not in content and parts:
        return content
    return "---\n".join(
        part.removeprefix("\n") if part.endswith("\n") else f"{part}\n" for part in parts.values()
    )


def _is_applied(document: Document) -> bool:
    if document.item is not None:
        return True
    return is_manifest(document.value) and not text(document.value, "apiVersion").startswith(KUSTOMIZE)
