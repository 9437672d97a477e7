"""cel-python, another implementation of CEL, agrees where both follow the language definition."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import EvaluationError, Program

_DEVICE = prepare_device({}, "d.example.com")

AGREED = (
    "1 + 2 * 3 == 7",
    "-7 / 2 == -3",
    "-7 % 2 == -1",
    "7 / -2 == -3",
    "1 - -1 == 2",
    "0x1F == 31",
    "1u + 2u == 3u",
    "1.5 * 2.0 == 3.0",
    "1e3 == 1000.0",
    "'a' + 'b' == 'ab'",
    "'abc'.size() == 3",
    "'é日😀'.size() == 3",
    "'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')",
    "'abc'.matches('^a.c$')",
    "'\\u00e9' == 'é'",
    "b'\\xff' != b'\\x00'",
    "[1, 2, 3].size() == 3",
    "[1, 2] + [3] == [1, 2, 3]",
    "2 in [1, 2]",
    "'a' in {'a': 1}",
    "{'a': 1}['a'] == 1",
    "{'a': {'b': 2}}.a.b == 2",
    "[1, 2, 3].all(x, x > 0)",
    "[1, 2, 3].exists(x, x > 2)",
    "[1, 2, 3].exists_one(x, x > 2)",
    "[1, 2, 3].map(x, x * 2) == [2, 4, 6]",
    "[1, 2, 3].filter(x, x > 1) == [2, 3]",
    "[0, 1].exists(x, 1 / x == 1)",
    "1 / 0 == 1 || true",
    "!(1 / 0 == 1 && false)",
    "true ? true : 1 / 0 == 1",
    "int('12') == 12 && string(12) == '12'",
    "double('1.5') == 1.5 && int(1.9) == 1",
    "type(1) == int && type('a') == string",
    "duration('90m') == duration('1h30m')",
    "duration('1h').getMinutes() == 60",
    "timestamp('2024-02-29T12:30:45Z').getDayOfMonth() == 28",
    "timestamp('2024-02-29T12:30:45Z').getHours('America/New_York') == 7",
    "timestamp('2024-02-29T12:30:45Z') + duration('1s') > timestamp('2024-02-29T12:30:45Z')",
    "has({'a': 1}.a) && !has({'a': 1}.b)",
    "1 / 0 == 1",
    "9223372036854775807 + 1 == 0",
    "{'a': 1}['b'] == 1",
    "[1][5] == 1",
)


def _theirs(expression: str) -> bool | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        celpy = pytest.importorskip("celpy")
        environment: Any = celpy.Environment()
        try:
            return bool(environment.program(environment.compile(expression)).evaluate({}))
        except celpy.CELEvalError:
            return None


def _ours(expression: str) -> bool | None:
    compiled = compile_expression(expression, Environment("stored"))
    assert compiled.ast is not None, compiled.error
    try:
        return Program(compiled.ast).matches(_DEVICE)
    except EvaluationError:
        return None


@pytest.mark.parametrize("expression", AGREED)
def test_same_result(expression: str) -> None:
    """Both give the same bool, or both an error."""
    assert _ours(expression) == _theirs(expression)
