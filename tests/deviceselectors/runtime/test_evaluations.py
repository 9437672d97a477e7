"""Expressions of every library give upstream's value, error text and cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deviceselectors.compiler import Compiled, compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime import compilation
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
    """The exact variant gives the measured value or error, and the measured cost."""
    result = _program(case).evaluate(_DEVICE)
    assert (result.value, result.error, result.cost) == (
        case.get("value"),
        case.get("error"),
        case.get("cost"),
    )


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled."""
    monkeypatch.setattr(compilation, "_is_enabled", False)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("case", _CASES)
def test_interpreted(case: dict[str, Any]) -> None:
    """The interpreter gives the measured value or error, and the measured cost."""
    test_evaluation(case)
    test_fast_variant(case)


@pytest.mark.parametrize("case", _CASES)
def test_fast_variant(case: dict[str, Any]) -> None:
    """`matches` and `attribute` give the measured value or error as well."""
    program = _program(case)
    try:
        value: Any = (program.attribute if case.get("derived") else program.matches)(_DEVICE)
        error = None
    except EvaluationError as failure:
        value, error = None, str(failure)
    assert (value, error) == (case.get("value"), case.get("error"))


@pytest.mark.usefixtures("interpreted")
def test_measured_answers_interpreted(shared: Path) -> None:
    """The interpreter answers measured evaluations alike: some of them, as it takes its time (`conformance --interpret`)."""
    assert different_answers(shared, 40) == []


def test_measured_answers(shared: Path) -> None:
    """Every measured evaluation is answered alike: result, error text, cost."""
    assert different_answers(shared, 1) == []


def different_answers(shared: Path, step: int) -> list[str]:
    """The measured evaluations, one in so many, that are answered otherwise."""
    lines = (shared / "corpus" / "cel.jsonl").read_text().splitlines()
    cases = [case for case in map(json.loads, lines) if case["device"] is not None][::step]
    return [case["id"] for case in cases if not cel.compare(case, cel.answer(case)).answer]
