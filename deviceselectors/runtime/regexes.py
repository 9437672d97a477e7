"""Regular expressions: `matches`, `find` and `findAll`, with RE2's syntax and linear time.

They run on google-re2. Where that is not installed, a small part of the syntax is translated for Python's `re`: what
means the same there and cannot backtrack for long; anything else is an error. Error texts are those of Go's regexp.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Protocol

from deviceselectors.runtime.values import CelError

_CACHE_SIZE = 256
_MAX_NESTING = 1000
_NEEDS_RE2 = "this regular expression needs the Python package google-re2"

# literals, escaped punctuation, simple classes, the point; each with at most one quantifier
_ATOM = r"(?:[A-Za-z0-9 _@#%&=:;,<>/!\"'~`-]|\\[.+*?()\[\]{}|^$/\\-]|\[\^?(?:[A-Za-z0-9_.:/ -])+\]|\.)"
_SIMPLE = rf"\^?(?:{_ATOM}(?:[*+?]|\{{\d{{1,3}}\}})?)*\$?"
_MAX_LOOPS = 2

# google-re2's words, and Go's
_PROBLEMS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}


class Pattern(Protocol):
    """What both engines' compiled patterns offer."""

    def search(self, text: str, pos: int = ..., /) -> Any: ...


class RegexError(ValueError):
    """A pattern that is no regular expression; the text is Go's."""


@functools.lru_cache(maxsize=_CACHE_SIZE)
def compile_regex(pattern: str) -> Pattern:
    """The compiled pattern. Raises RegexError."""
    try:
        import re2  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        return _translate(pattern)
    _check_go_limits(pattern)
    options = re2.Options()
    options.log_errors = False
    try:
        compiled: Pattern = re2.compile(pattern, options)
    except re2.error as error:
        raise RegexError(_go_text(error.args[0])) from None
    return compiled


def _check_go_limits(pattern: str) -> None:
    r"""What google-re2 takes and Go does not: `\C`, and groups nested more than a thousand deep."""
    if "\\C" not in pattern and pattern.count("(") < _MAX_NESTING:
        return
    depth = position = 0
    quoted = in_class = False
    while position < len(pattern):
        c, pair = pattern[position], pattern[position : position + 2]
        if quoted or c == "\\":
            if not quoted and pair == "\\C":
                raise RegexError("error parsing regexp: invalid escape sequence: `\\C`")
            quoted = pair == "\\Q" or (quoted and pair != "\\E")
            position += 2 if c == "\\" else 1
            continue
        if in_class:
            in_class = c != "]"
        elif c == "[":
            in_class = True
            position += 2 if pair == "[^" else 1
            position += pattern[position : position + 1] == "]"
            continue
        else:
            depth += (c == "(") - (c == ")")
        if depth >= _MAX_NESTING:
            raise RegexError(f"error parsing regexp: expression nests too deeply: `{pattern}`")
        position += 1


def _go_text(message: object) -> str:
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    if text.startswith("trailing"):
        text += ": "
    problem, colon, part = text.partition(": ")
    problem = _PROBLEMS.get(problem, problem)
    return f"error parsing regexp: {problem}{f': `{part}`' if colon else ''}"


def _translate(pattern: str) -> Pattern:
    loops = pattern.count("*") + pattern.count("+")
    if not re.fullmatch(_SIMPLE, pattern) or loops > _MAX_LOOPS:
        raise RegexError(_NEEDS_RE2)
    if pattern.endswith("$") and not pattern.endswith("\\$"):
        # Python's $ also matches before a line feed at the end
        pattern = pattern[:-1] + r"\Z"
    return re.compile(pattern)


def search(pattern: Pattern, text: str) -> bool:
    return pattern.search(text) is not None


def find_first(pattern: Pattern, text: str) -> str:
    match = pattern.search(text)
    return str(match.group(0)) if match else ""


def find_all(pattern: Pattern, text: str, limit: int = -1) -> list[str]:
    """All matches that do not overlap; an empty one right behind another match does not count."""
    found: list[str] = []
    position, previous_end = 0, -1
    while position <= len(text) and (limit < 0 or len(found) < limit):
        match = pattern.search(text, position)
        if match is None:
            break
        start, end = match.span()
        accepted = start != end or start != previous_end
        position = end + 1 if end == position else end
        previous_end = end
        if accepted:
            found.append(match.group(0))
    return found


def matches(text: str, pattern: str) -> bool:
    """`text.matches(pattern)` with a computed pattern."""
    try:
        return search(compile_regex(pattern), text)
    except RegexError as error:
        raise CelError(str(error)) from None


def find(text: str, pattern: str) -> str:
    return find_first(_compile_or_illegal(pattern), text)


def find_all_computed(text: str, pattern: str, limit: int = -1) -> list[str]:
    return find_all(_compile_or_illegal(pattern), text, limit)


def _compile_or_illegal(pattern: str) -> Pattern:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise CelError(f"Illegal regex: {error}") from None
