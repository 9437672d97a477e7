"""Plain expressions: what is said about their cost without an estimate is what the estimate says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deviceselectors.compiler import MAX_LENGTH, compile_expression, is_plain
from deviceselectors.cost import estimate
from deviceselectors.environment import Environment
from resourceapi.limits import CEL_EXPRESSION_COST

_DATA = Path(__file__).parent / "data"
_ENVIRONMENT = Environment(list_attributes=True)
_EXPRESSIONS = sorted({case["expression"] for case in json.loads((_DATA / "costs.json").read_text())})

_texts = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=40).map(json.dumps)
_operands = st.sampled_from(
    [
        "device.driver",
        'device.attributes["a.example"].model',
        'device.attributes["a.example"]["model"]',
        "device.attributes[device.driver].model",
        'device.capacity["a.example"].memory',
        "device.allowMultipleAllocations",
        "string(device.driver)",
        "device.driver.lowerAscii()",
    ]
)
_atoms = st.one_of(
    st.builds("{} == {}".format, _operands, _texts),
    st.builds("{} != {}".format, _texts, _operands),
    st.builds("{} < {}".format, _operands, _texts),
    st.builds("{} == {}".format, _operands, _operands),
    st.builds("{}.compareTo(quantity({})) > 0".format, _operands, st.just('"10Gi"') | _texts),
    st.builds("{}.isLessThan(semver({}))".format, _operands, st.just('"1.2.3"')),
    st.builds("has({})".format, st.just('device.attributes["a.example"].model')),
    st.builds("{}.matches({})".format, _operands, _texts),
    st.just('device.attributes["a.example"].all(k, k != "x")'),
)
_expressions = st.recursive(
    _atoms,
    lambda inner: (
        st.builds("({} && {})".format, inner, inner)
        | st.builds("({} || {})".format, inner, inner)
        | st.builds("!({})".format, inner)
        | st.builds("({} ? {} : {})".format, inner, inner, inner)
    ),
    max_leaves=8,
)


def _agrees(expression: str) -> bool:
    """Whether the estimate says the same; tells whether the expression is plain."""
    compiled = compile_expression(expression, _ENVIRONMENT)
    if compiled.ast is None:
        return False
    cost = estimate(compiled.ast)
    assert compiled.is_too_complex == (cost > CEL_EXPRESSION_COST)
    assert compiled.max_cost == cost
    if not is_plain(expression, compiled.ast):
        return False
    assert cost <= len(expression) * (2 + 0.1 * len(expression))
    return True


def test_bound_is_below_the_limit() -> None:
    """The longest expression that is looked at cannot cost too much by the rule that bounds plain ones."""
    assert MAX_LENGTH * (2 + 0.1 * MAX_LENGTH) < CEL_EXPRESSION_COST


def test_measured_expressions() -> None:
    """Whatever the expression: it is too complex if the estimate says so; some of them are plain."""
    assert sum(map(_agrees, _EXPRESSIONS)) > 10


@settings(max_examples=500)
@given(_expressions)
def test_random_expressions(expression: str) -> None:
    """The same for selectors as people write them, of plain and other parts."""
    _agrees(expression)


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "a.example"',
        '"a.example" == device.driver',
        'device.attributes["a.example"].model == "x" && device.capacity["a.example"].memory.compareTo(quantity("1Gi")) >= 0',
        'has(device.attributes["a.example"].model) || !(device.attributes["a.example"].count > 3)',
        'device.attributes["a.example"].version.isGreaterThan(semver("1.0.0"))',
    ],
)
def test_usual_selectors_are_plain(expression: str) -> None:
    """What most people write needs no estimate."""
    assert _agrees(expression)


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["a.example"].model == device.attributes["b.example"].model',
        'device.driver.matches("a.*")',
        "quantity(device.driver) == quantity('1')",
        'device.attributes["a.example"].all(k, k == "x")',
        '["a.example"].exists(d, d == device.driver)',
    ],
)
def test_expressions_that_are_not_plain(expression: str) -> None:
    """Loops, comparisons of two unknown texts and functions of text are estimated."""
    compiled = compile_expression(expression, _ENVIRONMENT)
    assert compiled.ast is not None
    assert not is_plain(expression, compiled.ast)


def test_length_counts() -> None:
    """The bound grows with the length, so that long expressions are estimated."""
    expression = 'device.driver == "a"'
    shorter, longer = (
        expression + " " * (length - len(expression)) for length in (MAX_LENGTH, MAX_LENGTH + 1)
    )
    assert _agrees(shorter)
    assert not _agrees(longer)
