"""Text from files and clusters, made harmless for what reads a report: a terminal, a CI log, a JSON parser.

Names, values and file names are anybody's: they may hold characters that steer a terminal or change the direction of
text, and line breaks after which GitHub Actions would take the rest for a command.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

_NOT_PRINTABLE_BUT_LEFT = "\n\t"
# GitHub Actions runs what stands after these at the start of a line, blanks aside, whichever step wrote the line.
_workflow_command = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
# json.dumps leaves alone what is beyond ASCII; of that, JSON wants nothing escaped, but terminals do.
_above_ascii = re.compile(r"[^\x00-\x7e]+")


def on_one_line(text: str) -> str:
    """The text on one line: what is not printable is escaped as in Python, line breaks too; tabs stay."""
    if text.isprintable():
        return text
    return printable(text).replace("\n", "\\n")


def printable(text: str) -> str:
    """The text without characters that would steer a terminal; tabs and line breaks stay."""
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or char in _NOT_PRINTABLE_BUT_LEFT
        else char.encode("unicode_escape").decode()
        for char in text
    )


def without_commands(report: str) -> str:
    """Lines of text for people, in which none is a workflow command for GitHub Actions."""
    return _workflow_command.sub(r"\1\\x3a", report) if "::" in report else report


def complain(message: str) -> None:
    """Write a message for people to standard error, on lines of its own."""
    print(without_commands(printable(message)), file=sys.stderr)


def write_json(document: Any, stream: TextIO) -> None:
    """Write the document as indented JSON, what is not printable escaped, and a line break."""
    text = json.dumps(document, indent=2, ensure_ascii=not _is_unicode(stream))
    stream.write(_above_ascii.sub(_escaped, text) + "\n")


def _escaped(stretch: re.Match[str]) -> str:
    text = stretch[0]
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _is_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def write_lines(lines: Iterable[str], stream: TextIO) -> None:
    """Write lines for people; a line break within one is escaped, so that no name can forge a line."""
    stream.writelines(without_commands(on_one_line(line)) + "\n" for line in lines)
