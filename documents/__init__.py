"""Reads users' files: arguments to Kubernetes objects as kubectl would send them, with positions.

for found in documents.load(["manifests/", "claim.yaml", "-"]):
    if isinstance(found, documents.DocumentError):
        print(found, found.hint)            # found.file, .line, .column, .message, .hint
    else:
        found.value                         # the object: plain dict, list, str, int, float, bool, None
        found.locate(("spec", "devices"))   # Place(line, column, length) in found.file
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from documents.document import Document
from documents.errors import DocumentError
from documents.finding import find_files
from documents.parsing import parse
from documents.source import Path, Source, read_file
from documents.tree import RepeatedKeys

# From arguments to documents: the way of every file through this package.


def load(arguments: Iterable[str]) -> Iterator[Document | DocumentError]:
    """The objects in files, directories (recursively) and standard input (`-`), in order, as :func:`parse` gives them.

    A file that cannot be read comes as a DocumentError in its place. Nothing is raised.
    """
    for found in find_files(arguments):
        if isinstance(found, DocumentError):
            yield found
            continue
        try:
            content = read_file(found)
        except DocumentError as error:
            yield error
            continue
        yield from parse(content, found)


__all__ = ["Document", "DocumentError", "Path", "RepeatedKeys", "Source", "load", "parse"]
