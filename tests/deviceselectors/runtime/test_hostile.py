"""Hostile expressions cost neither much memory nor much time, and nesting breaks nothing."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime import effort
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import EvaluationError, Program, Result

_DEVICE = prepare_device({"attributes": {"s": {"string": "abc"}, "i": {"int": 5}}}, "d.example.com")
_TEXT = 'device.attributes["d.example.com"].s'
_LIMIT = "operation cancelled: actual cost limit exceeded"
_MEMORY = "internal error: runtime error: out of memory"
_MEGABYTE = 1 << 20


def nested(step: Callable[[str, int], str], depth: int, core: str) -> str:
    for level in range(depth):
        core = step(core, level)
    return core


def doubled(core: str, times: int, body: str) -> str:
    """The body with `b0` bound to the core, and every further variable to twice the one before."""
    inner = nested(
        lambda x, i: f"cel.bind(b{times - i}, b{times - i - 1} + b{times - i - 1}, {x})", times, body
    )
    return f"cel.bind(b0, {core}, {inner})"


def run(expression: str) -> Result:
    """The result with its cost; without counting it must be the same."""
    compiled = compile_expression(expression, Environment("stored"))
    assert compiled.ast is not None, compiled.error
    program = Program(compiled.ast)
    result = program.evaluate(_DEVICE)
    assert _outcome(program) == (result.value, result.error)
    return result


def _outcome(program: Program) -> tuple[bool | None, str | None]:
    try:
        return program.matches(_DEVICE), None
    except EvaluationError as error:
        return None, str(error)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        pytest.param("lists.range(1000000000).size() > 1",
                     "lists.range: size 1000000000 exceeds maximum allowed (1000000)", id="range"),
        pytest.param("lists.range(1000000).size() > 1", _LIMIT, id="longest-range"),
        pytest.param(doubled('"aaaaaaaaaaaaaaaa"', 24, "b24.size() > 1"), _LIMIT, id="doubled-string"),
        pytest.param(doubled("[1, 2]", 40, "b40 == b40"), _LIMIT, id="doubled-list-compared"),
        pytest.param(doubled("[1, 2]", 40, "3 in b40"), _LIMIT, id="doubled-list-searched"),
        pytest.param(doubled("[1, 2]", 40, "b40.reverse().size() > 1"), _LIMIT, id="doubled-list-reversed"),
        pytest.param(doubled("[1, 2]", 40, "b40.sum() > 1"), _MEMORY, id="doubled-list-summed"),
        pytest.param(doubled("[1, 2]", 40, "[b40] == [b40]"), _MEMORY, id="doubled-list-in-a-list"),
        pytest.param('"a"' + f'.replace("a", "{"a" * 100}")' * 5 + ".size() > 1", _MEMORY, id="replaced-string"),
        pytest.param(f'lists.range(80).map(x, lists.range(999).map(y, "{"a" * 200}").join("")).join("").size() > 1',
                     _LIMIT, id="joined-strings"),
    ],
)  # fmt: skip
def test_bounded(expression: str, error: str) -> None:
    """The evaluation ends with an error before it takes 50 MB."""
    tracemalloc.start()
    try:
        assert run(expression).error == error
        assert tracemalloc.get_traced_memory()[1] < 50 * _MEGABYTE
    finally:
        tracemalloc.stop()


def test_effort_is_limited() -> None:
    """Functions that cost by something else may make 5,000,000 characters in an evaluation, and not one more."""

    def made(more: str) -> str:
        texts = f'"{"a" * 1000}"', f'"{"a" * 999}{more}"'
        return " + ".join([f'{text}.replace("a", "{"b" * 2500}").size()' for text in texts])

    result = run(f"{made('a')} == 5000000")
    assert (result.value, effort.spent()) == (True, 5_000_000)
    assert run(f"{made('ab')} == 5000001").error == _MEMORY


def test_doubled_list_is_cheap() -> None:
    """A list of millions of millions of elements that nobody looks at is no problem, as upstream."""
    assert run(doubled("[1, 2]", 40, f"b40.size() == {2**41}")).value is True


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param("!" * 200 + "true", id="not"),
        pytest.param(nested(lambda x, i: f"({_TEXT} == 'x{i}' ? false : {x})", 60, "true"), id="conditional"),
        pytest.param(nested(lambda x, i: f"({_TEXT} != 'x{i}' {('&&', '||')[i % 2]} {x})", 70, "true"), id="logic"),
        pytest.param(nested(lambda x, i: f"[1].all(v{i}, {x})", 30, "true"), id="loops"),
        pytest.param(nested(lambda x, i: f"cel.bind(b{i}, {_TEXT}, {x})", 50, "true"), id="bindings"),
        pytest.param(" && ".join([f"{_TEXT} == 'abc'"] * 150), id="long-and"),
        pytest.param(f"[{', '.join([_TEXT] * 200)}].size() == 200", id="long-list"),
        pytest.param(nested(lambda x, i: f"[{x}]", 80, _TEXT) + " != []", id="lists"),
        pytest.param(nested(lambda x, i: f"optional.of({x}).value()", 80, _TEXT) + " == 'abc'", id="calls"),
        pytest.param(nested(lambda x, i: f"cel.bind(x, {_TEXT}, [1].exists(y, x == 'abc' && {x}))", 20, "true"),
                     id="shadowed-bindings"),
    ],
)  # fmt: skip
def test_nesting(expression: str) -> None:
    """Expressions nested as deep as the parser allows are evaluated, with and without counting."""
    assert run(expression).value is True
