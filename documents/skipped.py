"""Files below a directory that are not read although they look like manifests, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from documents.errors import DocumentError
from documents.parsing import NOT_AN_OBJECT, parse
from documents.sources import read_file

if TYPE_CHECKING:
    from documents.kustomizations import Brought

# A reason that is added here gets its words in `commandline.skipped_files`.
HIDDEN, CHART, PATCH, LINK = "hidden", "part of a chart", "patch", "link"
SUFFIX, NO_FILE, NO_DIRECTORY = "suffix", "no regular file", "unreadable directory"
KUSTOMIZATION = "kustomization"

# One of these is in every text that has a key apiVersion or kind, however it is escaped.
_TRACES = (b"kind", b"apiVersion", b"\\", b"!")
_NAMES = ("apiVersion", "kind")
# One of these is in every text that has such a name and cannot be parsed.
_TRACES_IN_ERRORS = (b"kind", b"apiVersion", b"\\")


class SkippedFile(NamedTuple):
    """A file or directory that is not read.

    :ivar reason: one of the constants of this module.
    :ivar brought: of a kustomization, what it brings in that is not read.
    """

    file: str
    reason: str
    brought: tuple[Brought, ...] = ()


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


def mentions(file: str, words: Iterable[bytes]) -> bool:
    """Whether one of these words is in a file, or may be for all that can be told."""
    try:
        content = read_file(file).replace(b"\0", b"")
    except DocumentError:
        return False
    return any(word in content for word in words)
