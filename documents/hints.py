"""Why a text that is no YAML may be none, and what to do about it."""

from __future__ import annotations

import re

_TEMPLATE = r"\{\{|\{%", "Helm, Jinja or another template language"
_READERS = ""  # nothing but a reader
_PLACEHOLDERS = (
    (
        r"\$\{[A-Za-z_][A-Za-z0-9_]*(?:[:/%#^,=?+-][^{}]*)?\}|\$\([A-Z_][A-Z0-9_]*\)|\$[A-Z][A-Z0-9_]+\b",
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
