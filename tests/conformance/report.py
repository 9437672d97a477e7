"""What the runner prints: the table, and differences one can read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import unified_diff
from typing import Any

from tests.conformance.answers import Case
from tests.conformance.comparison import Comparison

_COLUMNS = ("file", "profile", "verb", "cases", "same verdict", "same answer")


class Tally:
    """Counts of cases, same verdicts and same answers under one heading."""

    __slots__ = ("answers", "cases", "verdicts")

    def __init__(self) -> None:
        self.cases = self.verdicts = self.answers = 0

    def add(self, comparison: Comparison) -> None:
        self.cases += 1
        self.verdicts += comparison.verdict
        self.answers += comparison.answer

    def include(self, other: Tally) -> None:
        self.cases += other.cases
        self.verdicts += other.verdicts
        self.answers += other.answers


def table(tallies: Mapping[tuple[str, str, str], Tally]) -> str:
    """One row for each file, profile and verb."""
    rows = [_COLUMNS]
    for heading, tally in sorted(tallies.items()):
        rows.append((*heading, str(tally.cases), str(tally.verdicts), str(tally.answers)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return "\n".join("  ".join(_padded(row, widths)).rstrip() for row in rows)


def _padded(row: Iterable[str], widths: list[int]) -> Iterable[str]:
    for column, (text, width) in enumerate(zip(row, widths, strict=True)):
        yield text.ljust(width) if column < 3 else text.rjust(width)


def difference(case: Case, comparison: Comparison) -> str:
    """A case and, for each part of the answer that differs, a diff from the expected to the answered."""
    about = (case.get(name, "") for name in ("profile", "verb", "apiVersion", "kind", "expr"))
    lines = [" ".join(("===", case["id"], *(str(part) for part in about if part)))]
    if case.get("note"):
        lines.append(f"    {case['note']}")
    for part, expected, answered in comparison.differences:
        lines.append(f"  {part}:")
        before, after = _lines(expected), _lines(answered)
        context = max(len(before), len(after)) if len(before) + len(after) < 8 else 2
        lines += [f"    {line}" for line in list(unified_diff(before, after, lineterm="", n=context))[2:]]
    return "\n".join(lines)


def _lines(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, list):
        return [line for item in value for line in _lines(item)]
    if isinstance(value, dict) and value.keys() == {"field", "reason", "message"}:
        return [f"{value['field']}: {value['message']} ({value['reason']})"]
    if isinstance(value, dict):
        return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True).splitlines()
    return str(value).splitlines()
