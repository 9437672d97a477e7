"""Regular expressions have RE2's syntax, Go's error texts and no catastrophic backtracking."""

from __future__ import annotations

import time

import pytest

from deviceselectors.libraries.calls import resolve
from deviceselectors.runtime import effort
from deviceselectors.runtime.regex_syntax import RegexError
from deviceselectors.runtime.regexes import compile_regex

_matches = resolve("matches", ("matches",))

ERRORS = {
    "(": "missing closing ): `(`",
    "a)": "unexpected ): `a)`",
    "[a": "missing closing ]: `[a`",
    "*": "missing argument to repetition operator: `*`",
    "a**": "invalid nested repetition operator: `**`",
    "\\": "trailing backslash at end of expression: ``",
    "a{1001}": "invalid repeat count: `{1001}`",
    "[b-a]": "invalid character class range: `b-a`",
    "\\8": "invalid escape sequence: `\\8`",
    "\\C": "invalid escape sequence: `\\C`",
    "(?=a)": "invalid or unsupported Perl syntax: `(?=`",
    "\\pX": "invalid character class range: `\\pX`",
}


@pytest.mark.parametrize("pattern", [pytest.param(p, id=f"pattern-{i}") for i, p in enumerate(ERRORS)])
def test_error_text(pattern: str) -> None:
    """An invalid pattern is refused in Go's words."""
    with pytest.raises(RegexError) as failure:
        compile_regex(pattern)
    assert str(failure.value) == f"error parsing regexp: {ERRORS[pattern]}"


def test_groups_nested_at_the_limit_and_above() -> None:
    """Go takes 999 nested groups and no more."""
    compile_regex("(" * 999 + ")" * 999)
    with pytest.raises(RegexError, match="expression nests too deeply"):
        compile_regex("(" * 1000 + ")" * 1000)


@pytest.mark.parametrize(
    ("pattern", "text", "limit", "found"),
    [
        pytest.param("[0-9]+", "a1b22", -1, ["1", "22"], id="several"),
        pytest.param("a", "aaa", 2, ["a", "a"], id="limit"),
        pytest.param("a", "aaa", 0, [], id="limit-zero"),
        pytest.param("x*", "axb", -1, ["", "x", ""], id="empty-ones-not-behind-a-match"),
        pytest.param("", "é日", -1, ["", "", ""], id="empty-pattern"),
        pytest.param("^", "ab", -1, [""], id="anchor-once"),
    ],
)
def test_find_all(pattern: str, text: str, limit: int, found: list[str]) -> None:
    """Matches do not overlap; empty ones count unless they touch the match before."""
    effort.begin()
    assert compile_regex(pattern).find_all(text, limit) == found


def test_end_of_text_is_the_very_end() -> None:
    """Without the flag m, `$` does not match before a line feed."""
    assert not _matches("a\n", "a$")
    assert _matches("a\n", "(?m)a$")


def test_no_catastrophic_backtracking() -> None:
    """Nested repetition takes linear time."""
    start = time.process_time()
    assert not _matches("a" * 10_000 + "b", "^(a|a)*(a*)*$")
    assert time.process_time() - start < 60
