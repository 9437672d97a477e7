"""The fast variant of a program, the exact one and the bound of the cost agree on random expressions."""

from __future__ import annotations

import random
from typing import Any

import pytest

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.bounds import cost_bound
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.program import COST_LIMIT, EvaluationError, Program
from tests.deviceselectors.runtime.random_expressions import Expressions, random_device

_PER_SEED = 150


def _fast(program: Program, device: Any, derived: bool) -> tuple[Any, str | None]:
    try:
        return (program.attribute if derived else program.matches)(device), None
    except EvaluationError as error:
        return None, str(error)


@pytest.mark.parametrize("seed", range(4))
def test_variants_agree(seed: int) -> None:
    """Same value or error text, and a cost within the bound, whatever the expression and the device."""
    source = random.Random(seed)
    expressions = Expressions(source)
    compared = 0
    for _ in range(_PER_SEED):
        kind = source.choice(("bool", "bool", "int", "string", "list:string"))
        expression = expressions.expression(kind, source.randrange(1, 6))
        derived = kind != "bool"
        given = random_device(source)
        compiled = compile_expression(expression, Environment("stored", derived=derived))
        if compiled.ast is None:
            continue
        program = Program(compiled.ast, derived=derived)
        device = prepare_device(given, given["driver"])
        result = program.evaluate(device)
        assert _fast(program, device, derived) == (result.value, result.error), expression
        bound = cost_bound(Plan(compiled.ast))
        if result.cost is not None and bound < COST_LIMIT:
            assert result.cost <= bound, expression
        compared += 1
    assert compared > _PER_SEED * 0.8
