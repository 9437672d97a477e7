"""Expressions of every library give upstream's value, error text and cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deviceselectors.compiler import Compiled, compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import EvaluationError, Program
from tests.conformance import cel

_DATA = json.loads((Path(__file__).parent / "data" / "evaluations.json").read_text())
_DEVICE = prepare_device(_DATA["device"], _DATA["device"]["driver"])
_IMPOSSIBLE = ("program instantiation failed", "panic: ")
_CASES = [
    pytest.param(case, id=case["id"])
    for case in _DATA["cases"]
    if not case.get("error", "").startswith(_IMPOSSIBLE)
]
_IMPOSSIBLE_CASES = [
    pytest.param(case, id=case["id"])
    for case in _DATA["cases"]
    if case.get("error", "").startswith(_IMPOSSIBLE)
]


def _compile(case: dict[str, Any]) -> Compiled:
    environment = Environment("stored", derived=case.get("derived", False))
    return compile_expression(case["expression"], environment)


def _program(case: dict[str, Any]) -> Program:
    compiled = _compile(case)
    assert compiled.ast is not None, compiled.error
    return Program(compiled.ast, derived=case.get("derived", False))


@pytest.mark.parametrize("case", _IMPOSSIBLE_CASES)
def test_no_program(case: dict[str, Any]) -> None:
    """What fails in constants fails when the program is made, with the measured text."""
    assert _compile(case).error == case["error"]


@pytest.mark.parametrize("case", _CASES)
def test_evaluation(case: dict[str, Any]) -> None:
    """`evaluate` gives the measured value or error, and the measured cost."""
    result = _program(case).evaluate(_DEVICE)
    assert (result.value, result.error, result.cost) == (
        case.get("value"),
        case.get("error"),
        case.get("cost"),
    )


@pytest.mark.parametrize("case", _CASES)
def test_evaluation_without_counting(case: dict[str, Any]) -> None:
    """`matches` and `attribute` give the measured value or error as well."""
    program = _program(case)
    try:
        value: Any = (program.attribute if case.get("derived") else program.matches)(_DEVICE)
        error = None
    except EvaluationError as failure:
        value, error = None, str(failure)
    assert (value, error) == (case.get("value"), case.get("error"))


def test_measured_answers(shared: Path) -> None:
    """Every measured evaluation is answered alike: result, error text, cost."""
    lines = (shared / "corpus" / "cel.jsonl").read_text().splitlines()
    cases = [case for case in map(json.loads, lines) if case["device"] is not None]
    assert [case["id"] for case in cases if not cel.compare(case, cel.answer(case)).answer] == []
