"""Files that ``convert`` does not read, though objects in them are in other versions: templates of charts, patches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from documents.errors import DocumentError
from documents.finding import CHART, PATCH, SUFFIX
from documents.source import decode, read_file
from resourceapi.model.versions import GROUP

if TYPE_CHECKING:
    from documents.finding import Files

_REASONS = {
    CHART: ("in a part of a Helm chart, which is not converted", "rewrite it by hand: it may have templates"),
    PATCH: ("in a patch of a kustomization, which is not converted", "name the file itself to convert it"),
    SUFFIX: ("in a file that is not read", "rename it to .yaml, .yml or .json, or name the file itself"),
}
_version = re.compile(
    rf"""^[ \t-]*["']?apiVersion["']?[ \t]*:[ \t]*["']?({re.escape(GROUP)}/([^"'\s]+))""", re.MULTILINE
)


class LeftOut(NamedTuple):
    """The version that an object is in, in a file that was left out."""

    file: str
    reason: str
    line: int
    column: int
    version: str

    def error(self) -> DocumentError:
        """That it is not converted."""
        what, hint = _REASONS[self.reason]
        return DocumentError(self.file, self.line, self.column, f"{GROUP}/{self.version} {what}", hint)


def left_out(files: Files) -> Iterator[LeftOut]:
    """The versions of objects in the files that were left out, each version once for a file.

    :param files: after a search.
    """
    for file, reason, _ in files.skipped():
        if reason not in _REASONS:
            continue
        try:
            text = decode(read_file(file), file)
        except DocumentError:  # nobody asked to read it
            continue
        seen: set[str] = set()
        for found in _version.finditer(text):
            if found[2] not in seen:
                seen.add(found[2])
                line_start = text.rfind("\n", 0, found.start(1)) + 1
                line = text.count("\n", 0, line_start) + 1
                yield LeftOut(file, reason, line, found.start(1) - line_start + 1, found[2])
