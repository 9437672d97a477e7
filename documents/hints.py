"""Why a text that is no YAML may be none: templates and separators typed with the wrong dash."""

from __future__ import annotations

import re

_TEMPLATES = (
    (r"\{\{|\{%", "Helm, Jinja or another template language"),
    (r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$\([A-Z_][A-Z0-9_]*\)", "envsubst or a shell"),
    (r"__[A-Z][A-Z0-9_]*__|@[A-Z][A-Z0-9_]+@|<%[=-]?", "a placeholder that a script replaces"),
    (r"<[A-Z][A-Z0-9_-]+>", "a placeholder that the reader should replace"),
)

# Hyphens and dashes that look like the one on the keyboard, minus signs among them.
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_dashes_alone = re.compile(rf"^[-{_DASHES}]{{1,4}}[ \t\r]*(?:#[^\n]*)?$", re.MULTILINE).finditer


def template_marker(text: str) -> tuple[str, str] | None:
    """The first template marker in the text and what kind of tool fills it in, or None."""
    for pattern, tool in _TEMPLATES:
        matched = re.search(pattern, text)
        if matched:
            return matched[0], tool
    return None


def template_hint(text: str) -> str:
    """A hint for a text that cannot be read and looks templated, or ""."""
    found = template_marker(text)
    if found is None:
        return ""
    marker, tool = found
    return f"the file looks templated ({marker} is for {tool}): render it first and check the result"


def typographic_separator(text: str) -> int | None:
    """The offset of a line of dashes that is meant as `---` but typed with others, or None."""
    for matched in _dashes_alone(text):
        if any(dash in matched[0].split("#")[0] for dash in _DASHES):
            return matched.start()
    return None
