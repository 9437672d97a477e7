"""Source lines in the text report: the carets stand under what they mean."""

from __future__ import annotations

import pytest

from commandline.reports.escaping import printable
from commandline.reports.text import EXCERPT, excerpt


@pytest.mark.parametrize(
    ("line", "column", "width", "shown", "marks"),
    [
        ("name: gpu", 7, 3, "name: gpu", "      ^^^"),
        ("\tname:\tgpu", 8, 3, "\tname:\tgpu", "\t     \t^^^"),
        ("name: größe", 7, 5, "name: größe", "      ^^^^^"),
        ("名: 显卡", 4, 2, "名: 显卡", "    ^^^^"),
        ("e\u0301: x", 5, 1, "e\u0301: x", "   ^"),
        ("a: \x1b[2J", 4, 4, "a: \\x1b[2J", "   ^^^^^^^"),
        ("short", 3, 100, "short", "  ^^^"),
        ("", 1, 1, "", "^"),
        ("a:", 3, 1, "a:", "  ^"),
    ],
)
def test_excerpt(line: str, column: int, width: int, shown: str, marks: str) -> None:
    """Tabs, wide and combining characters and escapes take the room they take on a terminal."""
    assert excerpt(line, column, width) == (shown, marks)


@pytest.mark.parametrize("column", [1, 500, 5000, 9999])
def test_long_line(column: int) -> None:
    """Of a long line (minified JSON) the part around the column is shown."""
    line = "".join(chr(ord("a") + index % 26) for index in range(10_000))
    shown, marks = excerpt(line, column, 3)
    assert len(shown) <= EXCERPT + 2
    assert shown[marks.index("^") : len(marks)] == line[column - 1 : column + 2]


def test_printable() -> None:
    """Line breaks and tabs stay, other control characters and lone surrogates are escaped."""
    assert printable("a\n\tb\x07\x9b\udcff") == "a\n\tb\\x07\\x9b\\udcff"
