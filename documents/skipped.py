"""Files below a directory that are not read although they look like manifests, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from documents.errors import DocumentError
from documents.parsing import NOT_AN_OBJECT, parse
from documents.sources import read_file

HIDDEN, CHART, PATCH, LINK = "hidden", "part of a chart", "patch", "link"
SUFFIX, NO_FILE, NO_DIRECTORY = "suffix", "no regular file", "unreadable directory"

# One of these is in every text that has a key apiVersion or kind, however it is escaped.
_TRACES = (b"kind", b"apiVersion", b"\\", b"!")
_NAMES = ("apiVersion", "kind")
# One of these is in every text that has such a name and cannot be parsed.
_TRACES_IN_ERRORS = (b"kind", b"apiVersion", b"\\")


class SkippedFile(NamedTuple):
    """A file or directory that is not read.

    :ivar reason: one of the constants of this module.
    """

    file: str
    reason: str


def looks_like_manifest(file: str, is_other: Callable[[dict[str, Any]], bool] = lambda value: False) -> bool:
    """Whether a regular file has an object with an apiVersion or a kind, or may have one for all that can be told.

    :param is_other: says of an object that it is none of Kubernetes, whatever it has.
    """
    try:
        content = read_file(file)
    except DocumentError:
        return True
    content_of_any_width = content.replace(b"\0", b"") if b"\0" in content else content
    if not any(trace in content_of_any_width for trace in _TRACES):
        return False
    for found in parse(content, file):
        if isinstance(found, DocumentError):
            if not found.message.startswith(NOT_AN_OBJECT) and any(
                trace in content_of_any_width for trace in _TRACES_IN_ERRORS
            ):
                return True
        elif any(name in found.value for name in _NAMES) and not is_other(found.value):
            return True
    return False
