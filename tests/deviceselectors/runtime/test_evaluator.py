"""The evaluator by itself: nesting, and where the cost limit stops it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.closures import CostExceededError
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.evaluator import Evaluator
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.program import COST_LIMIT
from deviceselectors.runtime.values import CelError

_DEVICE = prepare_device({"attributes": {"s": {"string": "abc"}}}, "d.example.com")
_TEXT = 'device.attributes["d.example.com"].s'
_STACK = 256 * 1024


def plan_of(expression: str) -> Plan | None:
    root = compile_expression(expression, Environment("stored")).ast
    return None if root is None else Plan(root)


def nested(step: Callable[[str, int], str], core: str, end: str = "") -> Callable[[int], str]:
    """The source of an expression that is nested so many times."""

    def source(depth: int) -> str:
        text = core
        for level in range(depth):
            text = step(text, level)
        return text + end

    return source


def chained(start: str, link: str, end: str) -> Callable[[int], str]:
    return lambda length: start + link * length + end


NESTED = {
    "not": nested(lambda x, i: f"!({x})", "true"),
    "sum": chained("1", " + size([device.driver])", " > 0"),
    "selects": chained("dyn({})", ".a", " == 1"),
    "indices": nested(lambda x, i: f"[1, 2][{x}]", "1", " > 0"),
    "conditions": chained("", f"{_TEXT} == 'x' ? false : ", "true"),
    "lists": nested(lambda x, i: f"[{x}]", _TEXT, " != []"),
    "maps": nested(lambda x, i: f"{{'a': {x}}}", _TEXT, " != {}"),
    "calls": nested(lambda x, i: f"optional.of({x}).value()", _TEXT, " == 'abc'"),
    "alternatives": chained("optional.none()", ".or(optional.none())", ".orValue(true)"),
    "logic": nested(lambda x, i: f"({_TEXT} != 'x{i}' {('&&', '||')[i % 2]} {x})", "true"),
    "all": nested(lambda x, i: f"[1].all(v{i}, {x})", "true"),
    "map": nested(lambda x, i: f"[1].map(v{i}, {x})", "true", " != []"),
    "maps-in-turn": chained("[1]", ".map(v, v)", " != []"),
    "bound": nested(lambda x, i: f"cel.bind(b{i}, {x}, b{i})", "true"),
    "sorted-in-turn": chained("[2, 1]", ".sortBy(v, v)", " != []"),
    "optional-map": nested(lambda x, i: f"optional.of(1).optMap(v{i}, {x})", "1", " != optional.none()"),
    "transformed": nested(lambda x, i: f"[1].transformMap(k{i}, v{i}, {x})", "1", " != {}"),
}


def deepest(source: Callable[[int], str]) -> Plan:
    """The plan of the expression that is nested as deep as the compiler takes it."""
    low, high = 1, 1000
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if plan_of(source(middle)) is not None else (low, middle - 1)
    assert 100 < low < 1000
    plan = plan_of(source(low))
    assert plan is not None
    return plan


@pytest.mark.parametrize("shape", NESTED)
def test_deepest_nesting(shape: str) -> None:
    """What the compiler takes is evaluated, in a thread with a small stack too, with and without counting."""
    plan = deepest(NESTED[shape])
    outcomes: list[Any] = []

    def evaluate() -> None:
        value, _ = Evaluator(plan).counted(_DEVICE, COST_LIMIT)
        outcomes.append(value.message if value.__class__ is CelError else value)
        try:
            outcomes.append(Evaluator(plan, counts=False).value(_DEVICE))
        except CelError as error:
            outcomes.append(error.message)

    before = threading.stack_size(_STACK)
    try:
        thread = threading.Thread(target=evaluate)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert len(outcomes) == 2
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("rest", "cost"),
    [
        # measured with upstream's evaluator: what is spent before is the limit itself
        pytest.param('{"a": 1}.?a.orValue(2) == 1', 1, id="optional-access"),
        pytest.param("[1][lists.range(0).size()] == 1", 11, id="key-before-its-access"),
        pytest.param('has({"a": {"b": 1}}.?a.b)', 1, id="presence-after-an-optional-access"),
        pytest.param('{"a": device.driver}.transformMap(k, v, v + "x") == {"a": "x"}', 1, id="map"),
        pytest.param("[?optional.of(device.driver), device.driver] == []", 1, id="list"),
    ],
)  # fmt: skip
def test_stops_at_the_limit(rest: str, cost: int) -> None:
    """Evaluation stops where upstream's does."""
    # lists.range(n) costs n + 11, size and equality one each
    plan = plan_of(f"lists.range(999987).size() == 999987 && {rest}")
    assert plan is not None
    with pytest.raises(CostExceededError) as stopped:
        Evaluator(plan).counted(_DEVICE, COST_LIMIT)
    assert stopped.value.cost == COST_LIMIT + cost
