"""JSON values as fresh YAML, in the way kubectl and people write it."""

from __future__ import annotations

import json
import re
from typing import Any

from documents.scalars import resolve_plain

# Harmless in block and flow style alike, as a key and as a value.
_plain = re.compile(
    r"[A-Za-z0-9_./(=+-][A-Za-z0-9_./()=+<>@$;~^-]*(?: [A-Za-z0-9_./()=+<>@$;~^-]+)*"
).fullmatch
# Also harmless as the value of a block mapping: what CEL expressions consist of.
_plain_expression = re.compile(
    r"[A-Za-z_(][^\x00-\x1f\x7f-\U0010ffff#]*[^\x00-\x20\x7f-\U0010ffff#:]"
).fullmatch
# What YAML does not allow, what changes the direction of the text that people see or cannot be seen in it, and a command to
# GitHub Actions. Joiners (U+200C, U+200D) stay: scripts and emojis need them.
_not_printable = re.compile(
    "(?<=##)\\[|[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def block(value: Any, sequence_indent: int = 0) -> list[str]:
    """The lines of a mapping or sequence in block style, from column 0 on.

    `sequence_indent` is how much deeper the dashes of a sequence are than the key that holds it.
    """
    if isinstance(value, dict) and value:
        return [line for key, item in value.items() for line in entry(key, item, sequence_indent)]
    if isinstance(value, list) and value:
        return [line for item in value for line in item_lines(item, sequence_indent)]
    return [scalar(value, in_flow=False)]


def entry(key: str, value: Any, sequence_indent: int = 0) -> list[str]:
    """The lines of one key of a block mapping with its value."""
    name = scalar(key, in_flow=True) + ":"
    if isinstance(value, (dict, list)) and value:
        indent = 2 if isinstance(value, dict) else sequence_indent
        return [name, *(" " * indent + line if line else line for line in block(value, sequence_indent))]
    literal = literal_block(value)
    if literal:
        return [f"{name} {literal[0]}", *("  " + line if line else line for line in literal[1:])]
    return [f"{name} {scalar(value, in_flow=False)}"]


def item_lines(value: Any, sequence_indent: int = 0) -> list[str]:
    """The lines of one entry of a block sequence."""
    literal = literal_block(value)
    lines = literal or block(value, sequence_indent)
    return ["- " + lines[0], *("  " + line if line else line for line in lines[1:])]


def literal_block(value: Any) -> list[str]:
    """A text of several lines as a literal block, header first; [] where that form does not fit."""
    if not isinstance(value, str) or "\n" not in value.rstrip("\n") or value[0] in " \n":
        return []
    kept = len(value) - len(value.rstrip("\n"))
    lines = value.removesuffix("\n").split("\n")
    if kept > 1 or not all(line.isprintable() and line[-1:] != " " for line in lines):
        return []
    # to GitHub Actions such a line is a command
    if any(_not_printable.search(line) or line.lstrip().startswith("::") for line in lines):
        return []
    return ["|" if kept else "|-", *lines]


def flow(value: Any) -> str:
    """A value in flow style, on one line, strings quoted."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{scalar(key, in_flow=True)}: {flow(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return quoted(value) if isinstance(value, str) else scalar(value, in_flow=True)


def scalar(value: Any, in_flow: bool) -> str:
    """A scalar (or an empty collection) on one line; a string is plain where it stays itself."""
    if not isinstance(value, str):
        return json.dumps(value)
    if value and isinstance(resolve_plain(value), str) and value != "<<" and len(value) < 1000:
        if _plain(value) and not value.startswith(("- ", "---", "...")) and value != "-":
            return value
        if not in_flow and _plain_expression(value) and ": " not in value:
            return value
    return quoted(value)


def quoted(value: str) -> str:
    """A string in double quotes, as YAML reads it; so does JSON, unless it has invisible characters beyond U+FFFF."""
    return _not_printable.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _escaped(matched: re.Match[str]) -> str:
    code = ord(matched[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # YAML has no surrogates
