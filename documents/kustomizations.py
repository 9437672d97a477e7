"""Patches of kustomizations: parts of objects, which only kustomize makes whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from documents.document import Document
from documents.errors import DocumentError
from documents.parsing import parse
from documents.sources import read_file

_LISTS = ("patches", "patchesStrategicMerge", "patchesJson6902")


def patches_of(directory: str, name: str) -> set[str]:
    """The files that the kustomization of a directory names as patches, as normalized paths. None of them is opened.

    :param name: that of the kustomization's file. One that cannot be read names no patches.
    """
    file = os.path.join(directory, name)
    try:
        found = next(iter(parse(read_file(file), file)), None)
    except DocumentError:
        return set()
    if not isinstance(found, Document):
        return set()
    return {os.path.normpath(os.path.join(directory, path)) for path in _paths(found.value)}


def _paths(kustomization: dict[str, Any]) -> Iterator[str]:
    for field in _LISTS:
        entries = kustomization.get(field)
        for entry in entries if isinstance(entries, list) else ():
            path = entry.get("path") if isinstance(entry, dict) else entry
            if isinstance(path, str) and path:
                yield path
