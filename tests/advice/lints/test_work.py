"""The work of lints for selectors that strangers wrote: it grows with their size, and not faster."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from advice.lints import Facts, lint
from advice.lints.expressions import Expression
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime import program
from resourceapi.releases import Profile


def _nested(levels: int, operand: str, negation: str = "", innermost: str = "true") -> str:
    ends = "".join(f" {'&&' if level % 2 else '||'} {operand % level})" for level in range(levels))
    return f"{negation}(" * levels + innermost + ends


def _calls(text: str) -> int:
    """The calls that lints of a selector make, once its like has been seen."""
    root = compile_expression(text, Environment("new")).ast
    assert root is not None
    calls = 0

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    Expression(text, root)
    sys.setprofile(count)
    try:
        Expression(text, root)
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    "make",
    [
        lambda size: _nested(size, "device.driver == '%d'"),
        lambda size: _nested(size // 2, "device.driver == '%d'", "!", innermost="device.driver == ''"),
        lambda size: _nested(size, "'n%d' in device.attributes['a']"),
        lambda size: " && ".join(f"has(device.attributes['a'].n{i})" for i in range(size)),
        lambda size: " || ".join(f"device.driver != '{i}'" for i in range(size)),
        lambda size: " && ".join(
            f"device.attributes['a'].n {'><'[i % 2]} {i if i % 2 else -i}" for i in range(size)
        ),
        lambda size: "(" * size + "true" + " ? true : device.driver == '')" * size,
    ],
    ids=["logic", "negated", "guards", "many-guards", "different", "ranges", "conditions"],
)
def test_work_grows_with_the_expression(make: Any) -> None:
    """Twice the expression takes twice the calls, not four times as many."""
    assert _calls(make(220)) < 2.3 * _calls(make(110))


def test_lists_of_allowed_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two long lists are not compared value by value."""
    compared = 0

    class Number(int):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int(self) == other

        __hash__ = int.__hash__

    from advice.lints.expressions import _is_impossible

    one, other = tuple(map(Number, range(1000))), tuple(map(Number, range(1000, 2000)))
    assert _is_impossible([("x", "in", one), ("x", "in", other)])
    assert compared < 10_000
    excluded: list[Any] = [("x", "!=", (number,)) for number in one]
    assert _is_impossible([("x", "in", one), *excluded])
    assert compared < 10_000


def test_few_parts_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expression that is full of constant parts is not computed to its end."""
    made: list[object] = []
    make = program.Program.__init__

    def counting(self: program.Program, *args: Any, **kwargs: Any) -> None:
        made.append(self)
        make(self, *args, **kwargs)

    monkeypatch.setattr(program.Program, "__init__", counting)
    _calls(" && ".join(f"{i} == {i}" for i in range(500)))
    assert len(made) <= 2 * 16


@pytest.mark.parametrize(
    "text",
    [
        "'x'.matches('\\\\pL{700}')",
        f"'{'a' * 5000}'.replace('', 'b').size() == 1",
    ],
    ids=["regex", "steps"],
)
def test_costly_parts_are_not_computed(text: str) -> None:
    """A part that takes many steps is not computed; that it could not be is not taken for its result."""
    compiled = compile_expression(text, Environment("new"))
    assert compiled.ast is not None
    assert not compiled.is_too_complex
    assert Expression(text, compiled.ast).constant is None


def test_alternatives_beyond_the_api() -> None:
    """No more alternatives are compared with one another than the API allows."""
    same = {"name": "a", "deviceClassName": "gpu"}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "spec": {"devices": {"requests": [{"name": "r", "firstAvailable": [same] * 500}]}},
    }
    assert len(list(lint(claim, Facts(Profile())))) == 7
