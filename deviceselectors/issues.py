"""What is wrong with an expression, and the text that the API server makes of it."""

from __future__ import annotations

#: Errors beyond these are only counted.
MAX_REPORTED = 100
_MAX_SNIPPET_BYTES = 16384
# Under characters beyond ASCII the server prints full-width marks.
_WIDE_DOT, _WIDE_CARET = "\uff0e", "\uff3e"
#: Where errors are that belong to no place in the source; printed as line -1, column 0.
NOWHERE = -2
#: Where nodes are that stand for something missing; printed as line 1, column 0.
MISSING = -1


class ServerPanicError(Exception):
    """Here the server's own check crashes: a question mark before an element of unknown type."""


class Source:
    """The text of an expression with its lines; positions in it are code-point offsets."""

    __slots__ = ("_line_starts", "starts_end_lines", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        #: whether the first place of a line is taken for the end of the line before
        self.starts_end_lines = False
        self._line_starts: list[int] | None = None

    def _starts(self) -> list[int]:
        if self._line_starts is None:
            from documents.source import line_starts

            self._line_starts = line_starts(self.text)
        return self._line_starts

    def locate(self, position: int) -> tuple[int, int]:
        """The line, from 1, and the column, from 0, of a position."""
        if position < 0:
            return (-1, -1) if position == NOWHERE else (1, -1)
        if not self.text:
            return 1, -1
        from bisect import bisect_left, bisect_right

        starts = self._starts()
        line = bisect_left(starts, position) if self.starts_end_lines else bisect_right(starts, position)
        line = max(line, 1)
        return line, position - starts[line - 1]

    def line(self, number: int) -> str | None:
        """The text of a line without its end, or None when there is no such line."""
        starts = self._starts()
        if not self.text or not 1 <= number <= len(starts):
            return None
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end]


class Issues:
    """The errors in an expression, in the order in which they were found."""

    __slots__ = ("_found", "count", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.count = 0
        self._found: list[tuple[int, int, str]] = []

    def report(self, position: int, message: str) -> None:
        """Add an error at a position in the source, a code-point offset."""
        self.count += 1
        if self.count <= MAX_REPORTED:
            line, column = self.source.locate(position)
            self._found.append((line, column, message))

    def locations(self) -> list[tuple[int, int, str]]:
        """Line from 1, column from 1 and message of each error, in the order of the source."""
        ordered = sorted(self._found, key=lambda issue: issue[:2])
        return [(line, column + 1, message) for line, column, message in ordered]

    def text(self) -> str:
        """All errors, each with the source line and a caret, as kube-apiserver prints them."""
        parts = [self._display(line, column, message) for line, column, message in self.locations()]
        if self.count > MAX_REPORTED:
            parts.append(f"{self.count - MAX_REPORTED} more errors were truncated")
        return "\n".join(parts)

    def _display(self, line: int, column: int, message: str) -> str:
        head = f"ERROR: <input>:{line}:{column}: {message}"
        snippet = self.source.line(line)
        if snippet is None or len(snippet.encode(errors="surrogatepass")) > _MAX_SNIPPET_BYTES:
            return head
        snippet = snippet.replace("\t", " ")
        column = max(column - 1, 0)
        before, marked = snippet[:column], snippet[column : column + 1]
        dots = (
            "." * len(before)
            if before.isascii()
            else "".join([_WIDE_DOT if c > "\x7f" else "." for c in before])
        )
        caret = _WIDE_CARET if marked > "\x7f" else "^"
        return f"{head}\n | {snippet}\n | {dots}{caret}"
