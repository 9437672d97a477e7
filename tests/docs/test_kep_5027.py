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
#: where the cases of a test are: a file of cases, the test's own file, or a folder with a folder for each
CASES = dict(re.findall(r"^- `(test_\w+)`: `(\S+?)`", PAGE, re.MULTILINE))
_NAMED = [
    ("allocator/patches/merge_rules.yaml", "null removes"),
    ("validation/cases/slice_patches.yaml", "gate-off"),
    ("scheduler/test_waking.py", "patch"),
    ("commandline/snapshots/explain", "patched"),
]
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
    """A test function of this name, and the case where the page says that those of the test are."""
    tree = ast.parse(file.read_text("utf-8"))
    functions = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    assert name in functions, f"{file}: no {name}"
    if case:
        assert _has_case(ROOT / "tests" / CASES[name], case), f"{CASES[name]}: no case {case}"


def _has_case(place: Path, case: str) -> bool:
    if place.is_dir():
        return (place / case).is_dir()
    line = rf'^    "{re.escape(case)}": ' if place.suffix == ".py" else rf"^- (case|name): {re.escape(case)}$"
    return re.search(line, place.read_text("utf-8"), re.MULTILINE) is not None


def test_cases_are_found_by_their_whole_name() -> None:
    """Not by a word of a comment, or of another case."""
    assert all(_has_case(ROOT / "tests" / place, case) for place, case in _NAMED)
    assert not any(_has_case(ROOT / "tests" / place, case[:-1]) for place, case in _NAMED)
