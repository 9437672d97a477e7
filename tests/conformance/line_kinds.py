"""The kinds of corpus lines, each with its way to answer and to compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.conformance import allocations, cel, comparison, quotas, replay
from tests.conformance.answers import Case
from tests.conformance.comparison import Comparison
from tests.conformance.profiles import PROFILES


class LineKind(NamedTuple):
    """`answer` gives the product's answer in the form of `expect`, `compare` holds it to `expect`.

    `published`: the part of the answer that `--answers` writes.
    """

    name: str
    answer: Callable[[Case], dict[str, Any]]
    compare: Callable[[Case, dict[str, Any]], Comparison]
    published: Callable[[dict[str, Any]], dict[str, Any]] = dict


REQUEST = LineKind("request", replay.answer, comparison.compare)
CEL = LineKind("cel", cel.answer, cel.compare)
QUOTA = LineKind("quota", quotas.answer, quotas.compare, quotas.published)
ALLOCATION = LineKind("allocation", allocations.answer, allocations.compare)


def kind_of(case: Case) -> LineKind | None:
    """What a line is about, or None if nothing here can answer it: another kind of line, or server."""
    if ("verb" in case or "steps" in case) and case["profile"] not in PROFILES:
        return None
    if "verb" in case:
        return REQUEST
    if "expr" in case:
        return CEL
    if "steps" in case:
        return QUOTA
    if "scenario" in case:
        return ALLOCATION
    return None


def is_measured(case: Case) -> bool:
    """Whether a line says what to expect."""
    return "expect" in case or any("expect" in step for step in case.get("steps", ()))


def heading(case: Case) -> tuple[str, str]:
    """Under what a case is counted: profile and verb, or environment and outcome."""
    if "expr" in case:
        return case["env"], cel.outcome(case["expect"])
    if "scenario" in case:
        return case.get("profile", ""), case["scenario"]["mode"]
    return case.get("profile", ""), case.get("verb", "quota" if "steps" in case else "")
