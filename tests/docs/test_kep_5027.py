"""The table of what KEP-5027 says: every row names tests that there are, and one of the verdicts that the page explains."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "kep-5027.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if re.match(r"\| \d+ \|", line)
]
VERDICTS = re.findall(r"^- \*\*(.+?)\*\*:", PAGE, re.MULTILINE)
TEST = re.compile(r"`(\S+?\.py)::(\w+)(?:\[([^\]`]+)\])?`")


def test_numbers() -> None:
    """The rows are numbered without gaps, so that they can be referred to."""
    assert [row[0] for row in ROWS] == [str(number) for number in range(1, len(ROWS) + 1)]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_row(row: list[str]) -> None:
    """A row has a sentence, tests, and a verdict; what cannot be tested here says so instead of naming a test."""
    _, sentence, tests, verdict = row
    assert sentence
    word = verdict.partition(":")[0]
    assert word in VERDICTS
    found = TEST.findall(tests)
    assert bool(found) is (word not in ("not ours", "not tested")), (
        "a test is named where, and only where, there is something to test"
    )
    for path, name, case in found:
        _assert_there(ROOT / "tests" / path, name, case)


def _assert_there(file: Path, name: str, case: str) -> None:
    """A test function of this name, and in its file or the data beside it the case."""
    tree = ast.parse(file.read_text("utf-8"))
    functions = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    assert name in functions, f"{file}: no {name}"
    if case:
        beside = [file, *(each for suffix in ("yaml", "json") for each in file.parent.rglob(f"*.{suffix}"))]
        word = re.compile(rf"(?<![\w-]){re.escape(case)}(?![\w-])")
        texts = (each.read_text("utf-8") for each in beside)
        # or it is a directory of its own
        snapshots = (ROOT / "tests" / "commandline" / "snapshots").glob(f"*/{case}")
        assert any(word.search(text) for text in texts) or any(snapshots), f"{file}: no case {case}"
