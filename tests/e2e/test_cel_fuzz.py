"""Random expressions get from the product what upstream's compiler and evaluator answer."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import pytest

from tests.conformance import cel
from tests.conformance.comparison import Comparison
from tests.deviceselectors.runtime.random_expressions import Expressions, random_device
from tests.e2e import referee
from tests.e2e.seed import SEED

EXPRESSIONS = int(os.environ.get("CLAIMCHECK_E2E_EXPRESSIONS") or 50_000)
SECONDS = float(os.environ.get("CLAIMCHECK_E2E_SECONDS") or 360)
MUST_COMPILE = 0.6
_CHUNK = 1_000
_SHOWN = 20
# Loops over maps run in Go's random order, so that upstream may answer the same question differently.
_REPEATS = 64

pytestmark = pytest.mark.skipif(not referee.is_available(), reason="the referee's sources are not there")


def test_random_expressions_get_upstream_s_answer() -> None:
    """Verdict, estimated cost, result, actual cost and the texts of errors are upstream's, for every expression.

    The expressions are fresh in every run, CLAIMCHECK_E2E_SEED repeats one. A run ends early when time is up.
    """
    print(f"CLAIMCHECK_E2E_SEED={SEED}")
    draw = random.Random(SEED)
    deadline = time.monotonic() + SECONDS
    asked = compiling = 0
    differences: list[str] = []
    while asked < EXPRESSIONS and time.monotonic() < deadline:
        questions = [_question(draw) for _ in range(min(_CHUNK, EXPRESSIONS - asked))]
        answers = referee.ask(questions)
        asked += len(questions)
        compiling += sum("error" not in answer for answer in answers)
        differences += _differences(questions, answers)
    print(f"{asked} expressions, {compiling} of which compile, {len(differences)} answered differently")
    for difference in differences[:_SHOWN]:
        print(difference)
    assert compiling >= MUST_COMPILE * asked
    assert not differences


def _question(draw: random.Random) -> dict[str, Any]:
    kind = draw.choice(("bool",) * 6 + ("int", "string", "list:string", "semver"))
    expression = Expressions(draw).expression(kind, draw.randint(1, 5))
    if draw.random() < 0.1:
        expression = _damaged(draw, expression)
    return {
        "expr": expression,
        "env": draw.choice(("new", "stored", "stored")),
        "cc": draw.random() < 0.9,
        "lt": draw.random() < 0.7,
        "derived": kind != "bool",
        "device": random_device(draw),
    }


def _damaged(draw: random.Random, expression: str) -> str:
    """The expression with one character gone, doubled or replaced."""
    at = draw.randrange(len(expression))
    put = draw.choice(("", expression[at] * 2, draw.choice("()[]{}.,?:!&|=<>+-*/%\"'\\`x0é \n")))
    return expression[:at] + put + expression[at + 1 :]


def _differences(questions: list[dict[str, Any]], answers: list[dict[str, Any]]) -> list[str]:
    found = []
    for question, expected in zip(questions, answers, strict=True):
        given = cel.answer(question)
        comparison = _compare(question, given, expected)
        if not comparison.answer and not _is_one_of_upstream_s(question, given):
            found.append(f"{question}\n  {comparison.differences}")
    return found


def _is_one_of_upstream_s(question: dict[str, Any], given: dict[str, Any]) -> bool:
    again = referee.ask([question] * _REPEATS)
    return any(_compare(question, given, expected).answer for expected in again)


def _compare(question: dict[str, Any], given: dict[str, Any], expected: dict[str, Any]) -> Comparison:
    expected = {part: value for part, value in expected.items() if part != "expr"}
    if expected.get("error", "").startswith("panic: "):
        # where upstream panics in compiling, the referee has caught it and knows nothing else
        given = {part: value for part, value in given.items() if part != "errType"} | {"maxCost": 0}
    return cel.compare({**question, "expect": expected}, given)
