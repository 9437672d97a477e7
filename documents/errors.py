"""What can be wrong with a source before its documents are looked at."""

from __future__ import annotations


class DocumentError(Exception):
    """A source, or one document of it, that cannot be read as kubectl reads it.

    `file` is the name as the user gave it (`-` is standard input); `line` and `column` count from 1,
    in code points, and are 0 when the trouble is with the whole file; `message` is one sentence
    without the position; `hint` says how to fix it, or is empty.
    """

    def __init__(self, file: str, line: int, column: int, message: str, hint: str = "") -> None:
        super().__init__(file, line, column, message, hint)
        self.file = file
        self.line = line
        self.column = column
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        place = self.file if self.line == 0 else f"{self.file}:{self.line}:{self.column}"
        return f"{place}: {self.message}"


class EmptyDirectory(DocumentError):
    """A directory that has no manifests: nothing to read, which not everybody takes for an error."""


class MalformedText(Exception):
    """Text that is no YAML or JSON; `offset` (code points into that text) is where reading stopped."""

    def __init__(self, offset: int, message: str, hint: str = "") -> None:
        super().__init__(offset, message, hint)
        self.offset = offset
        self.message = message
        self.hint = hint


class RefusedText(MalformedText):
    """Text that follows the grammar but is beyond what is read: another grammar is not worth a try."""
