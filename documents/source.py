"""The text of a file, and what says where something stands in it."""

from __future__ import annotations

from bisect import bisect_right

from documents.errors import DocumentError
from documents.lines import line_starts

Path = tuple[str | int, ...]
"""Keys and indexes from the document's root, e.g. ("spec", "devices", "requests", 0, "name")."""


def json_pointer(path: Path) -> str:
    """The path as an RFC 6901 JSON pointer."""
    return "".join("/" + str(segment).replace("~", "~0").replace("/", "~1") for segment in path)


class Source:
    """The text of one file, with its lines on demand. Lines and columns count from 1, in code points."""

    __slots__ = ("_line_starts", "file", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._line_starts: list[int] | None = None

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset in the text."""
        starts = self._starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line without its end; "" for a line that is not there."""
        starts = self._starts()
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def error(self, offset: int, message: str, hint: str = "") -> DocumentError:
        """A DocumentError at an offset of the text."""
        return DocumentError(self.file, *self.line_and_column(offset), message, hint)

    def _starts(self) -> list[int]:
        if self._line_starts is None:
            self._line_starts = line_starts(self.text)
        return self._line_starts
