"""The text of a file, and what says where something stands in it."""

from __future__ import annotations

import os
import sys
from bisect import bisect_right
from stat import S_ISREG

from documents.errors import DocumentError

# Where the lines of a text begin.


def line_starts(text: str) -> list[int]:
    """The offset of each line, in code points; a text without any line end is one line."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


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


# From files to text: their bytes, their encoding.

STANDARD_INPUT = "-"
"""The argument that stands for it."""

MAX_FILE_BYTES = 32 * 1024 * 1024
"""Larger files are refused unread."""


def read_file(file: str) -> bytes:
    """The bytes of a file, or of standard input for `-`.

    :raises DocumentError: if it cannot be read, or is larger than :data:`MAX_FILE_BYTES`.
    """
    try:
        standard_input = file == STANDARD_INPUT
        content = sys.stdin.buffer.read(MAX_FILE_BYTES + 1) if standard_input else _read_path(file)
    except OSError as error:
        raise DocumentError(file, 0, 0, _reason(error, file)) from None
    except ValueError:  # a NUL in the name
        raise DocumentError(file, 0, 0, "no such file or directory") from None
    if len(content) > MAX_FILE_BYTES:
        raise DocumentError(file, 0, 0, f"larger than {MAX_FILE_BYTES // 2**20} MiB")
    return content


def _read_path(path: str) -> bytes:
    """Plain system calls: a buffered file object costs more than most manifests take to parse."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        request = min(status.st_size, MAX_FILE_BYTES) + 1
        piece = os.read(descriptor, request)
        if len(piece) < request and S_ISREG(status.st_mode):
            return piece  # all that there is: anything else may only not have more yet
        pieces = []
        total = 0
        while piece:
            pieces.append(piece)
            total += len(piece)
            if total > MAX_FILE_BYTES:
                break
            piece = os.read(descriptor, 1 << 20)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def _reason(error: OSError, file: str) -> str:
    if isinstance(error, FileNotFoundError):
        if file.startswith(("https://", "http://")):
            return "addresses are not fetched: fetch the text, and give it to standard input (-)"
        return "no such file or directory"
    if isinstance(error, PermissionError):
        return "permission denied"
    if isinstance(error, IsADirectoryError):
        return "is a directory"
    return (error.strerror or "cannot be read").lower()


def decode(content: bytes, file: str) -> str:
    """The text in the bytes: UTF-8, or UTF-16 where a byte order mark says so, as kubectl does.

    The byte order mark is removed.

    :raises DocumentError: at the first byte that is neither.
    """
    encoding = "utf-8"
    if content[:1] in (b"\xff", b"\xfe", b"\xef"):
        if content.startswith(b"\xef\xbb\xbf"):
            content = content[3:]
        elif content.startswith((b"\xff\xfe", b"\xfe\xff")):
            encoding = "utf-16"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, "replace")
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        name = encoding.upper()
        hint = "save the file as UTF-8" if encoding == "utf-8" else "the byte order mark announces UTF-16"
        raise DocumentError(
            file, line, column, f"not valid {name}: byte 0x{content[error.start]:02x}", hint
        ) from None
