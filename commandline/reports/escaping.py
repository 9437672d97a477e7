"""Escapes strings from files and clusters for the readers of a report: terminals, CI logs, JSON parsers.

Names, values and file names are untrusted: they may contain characters that control a terminal or change the direction of
text, and line breaks after which GitHub Actions would run the rest as a command.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, TextIO

_NOT_PRINTABLE_BUT_LEFT = "\n\t"
# GitHub Actions runs what follows these at the start of a line, apart from blanks, whichever step wrote the line.
_workflow_command = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
# An older form, which it looks for anywhere in a line.
_OLDER_COMMAND, _NO_COMMAND = "##[", "#\\x23["
# json.dumps does not escape characters beyond ASCII; JSON does not need that, but terminals do.
_above_ascii = re.compile(r"[^\x00-\x7e]+")


def on_one_line(text: str) -> str:
    """The string on one line: unprintable characters and line breaks are escaped as in Python; tabs stay."""
    if text.isprintable():
        return text
    return printable(text).replace("\n", "\\n")


def printable(text: str) -> str:
    """The string with unprintable characters escaped as in Python; tabs and line breaks stay."""
    if text.isprintable():
        return text
    return "".join(
        char
        if char.isprintable() or char in _NOT_PRINTABLE_BUT_LEFT
        else char.encode("unicode_escape").decode()
        for char in text
    )


def without_commands(report: str) -> str:
    """The lines, none of which is a workflow command for GitHub Actions."""
    if _OLDER_COMMAND in report:
        report = report.replace(_OLDER_COMMAND, _NO_COMMAND)
    return _workflow_command.sub(r"\1\\x3a", report) if "::" in report else report


def complain(*lines: str) -> None:
    """Write a message for people to standard error; line breaks in a line are escaped, so that no name can forge a line."""
    write_lines(lines, sys.stderr)


def write_json(document: Any, stream: TextIO) -> None:
    """Write the document as indented JSON with unprintable characters escaped, and a line break."""
    stream.write(_json(document, stream, "\n") + "\n")


def write_json_entries(name: str, entries: Iterable[Any], others: dict[str, Any], stream: TextIO) -> None:
    """Write as :func:`write_json` an object with entries in a list under a name, and others behind it; one after the other."""
    separator = f'{{\n  "{name}": ['
    for entry in entries:
        stream.write(separator + "\n    " + _json(entry, stream, "\n    "))
        separator = ","
    stream.write("\n  ]" if separator == "," else f"{separator}]")
    stream.writelines(f',\n  "{key}": ' + _json(value, stream, "\n  ") for key, value in others.items())
    stream.write("\n}\n")


def _json(value: Any, stream: TextIO, line: str) -> str:
    """JSON for a stream; further lines begin with a line break and what it is indented by."""
    text = _indented(value, line, encode_basestring if _is_unicode(stream) else encode_basestring_ascii)
    text = text.replace(_OLDER_COMMAND, "##\\u005b")  # the same value for parsers
    return _above_ascii.sub(_escaped, text)


def _indented(value: Any, line: str, quoted: Callable[[str], str]) -> str:
    """The same as json.dumps with an indent of 2, which takes three times as long."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        inner = line + "  "
        entries = [
            f"{inner}{quoted(str(key))}: {_indented(item, inner, quoted)}" for key, item in value.items()
        ]
        return f"{{{','.join(entries)}{line}}}" if entries else "{}"
    if isinstance(value, (list, tuple)):
        inner = line + "  "
        items = [inner + _indented(item, inner, quoted) for item in value]
        return f"[{','.join(items)}{line}]" if items else "[]"
    return str(value) if type(value) is int else json.dumps(value)


def _escaped(stretch: re.Match[str]) -> str:
    text = stretch[0]
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _is_unicode(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def write_lines(lines: Iterable[str], stream: TextIO, finish: Callable[[str], str] | None = None) -> None:
    """Write lines for people; line breaks in a line are escaped, so that no name can forge a line.

    :param finish: what is done to a line after it has been escaped.
    """
    escaped = (without_commands(on_one_line(line)) for line in lines)
    stream.writelines((line if finish is None else finish(line)) + "\n" for line in escaped)


#: How the name of a chart ends that Helm has rendered.
RENDERED = " (rendered)"


def place(file: str, line: int) -> str:
    """``claim.yaml:3``; objects of a live cluster have no lines."""
    return f"{file}:{line}" if line else file


def in_repository(file: str) -> str:
    """A file as a host of repositories knows it: without the ``./`` of a search in ``.``."""
    return file.removeprefix("./")
