"""Why a text that is no YAML may be none, and what to do about it."""

from __future__ import annotations

import re
from typing import Any

_TEMPLATE = r"\{\{|\{%", "Helm, Jinja or another template language"
_READERS = ""  # nothing but a reader
_PLACEHOLDERS = (
    (
        r"\$\{[A-Za-z_][A-Za-z0-9_]*(?:[:/%#^,=?+-][^{}]*)?\}|\$\([^()\n]{1,100}\)|\$[A-Z][A-Z0-9_]+\b",
        "envsubst or a shell",
    ),
    (r"__[A-Z][A-Z0-9_]*__|@[A-Z][A-Z0-9_]+@|<%[=-]?", "a script that replaces it"),
    (r"<[A-Z][A-Z0-9_-]+>", _READERS),
)

# Hyphens and dashes that look like the one on the keyboard, minus signs among them.
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_dashes_alone = re.compile(rf"^[-{_DASHES}]{{1,4}}[ \t\r]*(?:#[^\n]*)?$", re.MULTILINE).finditer


def template_marker(text: str) -> tuple[str, str] | None:
    """The first template marker or placeholder in a text, and who replaces it; or None."""
    for pattern, purpose in (_TEMPLATE, *_PLACEHOLDERS):
        matched = re.search(pattern, text)
        if matched:
            return matched[0], purpose
    return None


def value_placeholder(text: str) -> tuple[str, str] | None:
    """A whole value that stands in for another, such as `<your node>`, and who replaces it; or None."""
    matched = re.fullmatch(r"\s*(<[A-Za-z][\w .:/-]{0,100}>)\s*", text)
    return (matched[1], _READERS) if matched else None


def template_hint(text: str, offset: int) -> str:
    """A hint for a text that cannot be read at an offset and looks templated, or "".

    Braces of a template language count wherever they are, placeholders on the line that cannot be read.
    """
    line = text[text.rfind("\n", 0, offset) + 1 :].split("\n", 1)[0]
    found = template_marker(text) if re.search(_TEMPLATE[0], text) else template_marker(line)
    if found is None:
        return ""
    return render_first(*found)


def render_first(marker: str, purpose: str) -> str:
    """The hint for a file with a template marker (:func:`template_marker`)."""
    if purpose == _READERS:
        return f"replace {marker} with a real value"
    return f"the file looks templated ({marker} is for {purpose}): render it first and check the result"


def no_object_hint(value: Any) -> str:
    """What to do about a document that is no mapping."""
    if isinstance(value, list):
        if any(isinstance(entry, dict) and "kind" in entry for entry in value):
            return "make each entry a document of its own, with --- between them, or put the list under `items` of a `kind: List`"
        return ""
    if isinstance(value, str):
        return "remove this text, or begin its lines with # if it is a comment"
    return ""


def typographic_separator(text: str) -> int | None:
    """The offset of a line of dashes that is meant as `---` but typed with others, or None."""
    for matched in _dashes_alone(text):
        if any(dash in matched[0].split("#")[0] for dash in _DASHES):
            return matched.start()
    return None


def syntax_hint(message: str, text: str, offset: int) -> str:
    """What usually is behind a message of the YAML reader at an offset, or ""."""
    line_start = text.rfind("\n", 0, offset) + 1
    before = text[line_start:offset]
    at = text[offset : offset + 1]
    if at == "\t" or "tab character" in message:
        return "indent with spaces: YAML does not allow tabs there"
    if "control characters" in message and "\0" in text[max(offset - 1, 0) : offset + 2]:
        return "this looks like UTF-16 or UTF-32 without the mark that says so: save the file as UTF-8"
    if message == "unsupported map key: null":
        return 'write the key in quotes, `"null":`: without them YAML reads it as no value'
    if message.startswith("found unknown escape character"):
        return "write the backslash twice, or put the value in single quotes"
    return (
        _stray_line(text, line_start)
        or _unquoted_value(before, text[offset:].split("\n", 1)[0])
        or _usual_cause(message, before, at)
    )


def _stray_line(text: str, line_start: int) -> str:
    """A line that cannot stand where it does: the one at fault, or the last one before it that is not empty."""
    line = text[line_start:].split("\n", 1)[0]
    previous = text[:line_start].rstrip().rpartition("\n")[2]
    for found in (line, previous):
        if _dots(found):
            return "replace the placeholder `...` with what it stands for, or remove its line"
        if re.fullmatch(r"[ \t]+---[ \t\r]*(?:#.*)?", found):
            return "begin the separator --- in the first column"
    return ""


_dots = re.compile(r"\s*(?:- )*(?:\.\.\.|\u2026)\s*(?:#.*)?").fullmatch
# A key with its value, on a line or within the braces of a flow mapping.
_entry = re.compile(r"(?:^|[{,]|- )\s*([\w.-]+):\s+(?=(\S.*)$)").finditer
_LOOKED_AT = 1000  # characters of a line before and after the one that cannot be read


def _unquoted_value(before: str, after: str) -> str:
    """A value with quotes missing, on the line whose part after ``before`` cannot be read; CEL expressions most often."""
    before, after = before[-_LOOKED_AT:], after[:_LOOKED_AT]
    entries = list(_entry(before))
    if not entries or entries[-1][2][0] in "|>&*#":
        return ""
    key, value = entries[-1][1], entries[-1][2] + after
    what = "the expression" if key == "expression" else "the value"
    if entries[-1][2][0] in "{[" and key != "expression":
        return ""
    in_flow = "{" in before[: entries[-1].start(1)]
    quoting = "in single quotes" if "'" not in value else "in double quotes" if '"' not in value else ""
    if in_flow and (key == "expression" or value[0] in "'\""):
        how = quoting or "on lines of its own, after `|-`"
        return f"put {what} {how}: between braces, YAML reads quotes, brackets and commas in it as its own"
    if not in_flow and value[0] in "'\"![{" and not value.startswith("!!"):
        how = f"{quoting} or after `|-`" if quoting else "on the next line, after `|-`"
        meaning = {"!": "as a tag", "[": "as a list", "{": "as a mapping"}.get(
            value[0], "as quotes around all of it"
        )
        return f"put {what} {how}: YAML reads the {value[0]} at its beginning {meaning}"
    return ""


def _usual_cause(message: str, before: str, at: str) -> str:
    if message.startswith("found character that cannot start"):
        return f"put text that begins with {at} in quotes"
    if message.startswith("mapping values are not allowed"):
        if ": " in before.lstrip(" -"):
            return "put the value in quotes: it contains a colon followed by a blank"
        return "check the indentation: keys of one mapping begin in the same column"
    if message.startswith(("unknown anchor", "did not find expected alphabetic")):
        return "put text that begins with * or & in quotes"
    if "<document start>" in message:
        return "remove lines that begin with %: kubectl does not accept directives"
    if message.startswith(
        ("did not find expected key", "did not find expected '-'", "could not find expected ':'")
    ):
        return "check the indentation and the quotes of this line and the one before"
    return ""
