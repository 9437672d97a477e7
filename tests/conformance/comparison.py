"""When two answers are the same, and where they differ."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from tests.conformance.answers import Case, Json, same_json


class Comparison(NamedTuple):
    """`verdict`: accepted or refused with the same HTTP code; `answer`: all else is the same as well.

    `differences`: what differs, part by part: (part, expected, answered); a part that is absent is None.
    """

    verdict: bool
    answer: bool
    differences: list[tuple[str, Json, Json]]


def compare(case: Case, answered: dict[str, Any]) -> Comparison:
    """Hold an answer (in the form of `expect`) to the expected one of the case.

    Parts of `expect` that were not measured can be left out of neither side: an absent list is an empty one.
    """
    expected = case["expect"]
    differences: list[tuple[str, Json, Json]] = []
    for part in PARTS:
        left, right = part_of(case, expected, part), part_of(case, answered, part)
        if expected.get("unordered") and part in ("message", "causes"):
            if part == "message":
                continue
            if _multiset(left) == _multiset(right):
                continue
        if not same_json(left, right) and not _is_cut(left, right):
            differences.append((part, left, right))
    verdict = expected["code"] == answered["code"]
    return Comparison(verdict, verdict and not differences, differences)


PARTS = ("code", "reason", "message", "details", "causes", "object", "converted", "warnings")
_LISTS = ("causes", "warnings")


def part_of(case: Case, answer: dict[str, Any], part: str) -> Json:
    """A part of an answer, with what stands for its absence."""
    if part == "object" and answer.get("unchanged"):
        return case["object"]
    value = answer.get(part)
    if part in _LISTS:
        return value or []
    if part in ("reason", "message"):
        return value or ""
    return value or None if part == "details" else value


#: From this length on, values and messages may be cut (docs/known-differences.md, "Errors without end").
_CUT_FROM, _CUT = 32_768, "…"


def _is_cut(expected: Json, answered: Json) -> bool:
    """Whether an answer is the expected one but for texts that are cut since they are too long."""
    if isinstance(expected, list) and isinstance(answered, list):
        return len(expected) == len(answered) and all(map(_is_cut, expected, answered))
    if isinstance(expected, dict) and isinstance(answered, dict):
        return expected.keys() == answered.keys() and all(
            _is_cut(each, answered[key]) for key, each in expected.items()
        )
    if not isinstance(expected, str) or not isinstance(answered, str):
        return same_json(expected, answered)
    if len(expected) < _CUT_FROM:
        return expected == answered
    place, (first, *others) = 0, answered.split(_CUT)
    if not expected.startswith(first) or (others and not expected.endswith(others[-1])):
        return False
    for each in (first, *others):
        place = expected.find(each, place) + len(each)
        if place < len(each):
            return False
    return bool(others) or expected == answered


def _multiset(causes: list[dict[str, str]]) -> Counter[tuple[str, str, str]]:
    return Counter((cause["field"], cause["reason"], cause["message"]) for cause in causes)
