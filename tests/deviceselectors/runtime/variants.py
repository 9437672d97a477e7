"""Compares the fast variant of a program, the exact one, the interpreter and the bound of the cost on random expressions.

`python -m tests.deviceselectors.runtime.variants SEED COUNT` does so with as many as you like.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.bounds import cost_bound
from deviceselectors.runtime.costs import CostExceededError
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.generator import Generator
from deviceselectors.runtime.interpreter import Interpreter
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.program import COST_LIMIT, EvaluationError, Program
from deviceselectors.runtime.showing import show
from deviceselectors.runtime.values import CelError, CelPanic
from tests.deviceselectors.runtime.random_expressions import Expressions, random_device


def _fast(program: Program, device: Any, derived: bool) -> tuple[Any, str | None]:
    try:
        return (program.attribute if derived else program.matches)(device), None
    except EvaluationError as error:
        return None, str(error)


def _outcome(function: Callable[[Any], tuple[Any, int]], device: Any) -> tuple[Any, ...]:
    """What a function with cost comes to, in a form that can be compared: values with their class, or how it ended."""
    try:
        value, cost = function(device)
    except CostExceededError as error:
        return "cost", error.cost
    except CelPanic as panic:
        return "panic", panic.message, panic.cost
    text = value.message if value.__class__ is CelError else show(value)
    return value.__class__, text, cost


def compare(expression: str, derived: bool, given: dict[str, Any], source: random.Random) -> bool:
    """Compares all variants, on a device; False if the expression does not compile.

    The exact variant and the interpreter are compared at a random limit of the cost too.
    """
    compiled = compile_expression(expression, Environment("stored", derived=derived))
    if compiled.ast is None:
        return False
    program = Program(compiled.ast, derived=derived)
    device = prepare_device(given, given["driver"])
    result = program.evaluate(device)
    assert _fast(program, device, derived) == (result.value, result.error), expression
    assert not program._is_refused, expression  # it would be interpreted, and nothing but the time would tell
    if result.cost is None:
        return True
    plan = Plan(compiled.ast)
    bound = cost_bound(plan)
    if bound < COST_LIMIT:
        assert result.cost <= bound, expression
    for limit in (COST_LIMIT, source.randrange(result.cost + 1)):
        exact = _outcome(Generator(plan, limit).program(), device)
        assert _outcome(Interpreter(plan, limit), device) == exact, (expression, limit)
    return True


def compare_random(seed: int, count: int) -> int:
    """Compares so many random expressions on random devices; how many of them compile."""
    source = random.Random(seed)
    expressions = Expressions(source)
    compared = 0
    for _ in range(count):
        kind = source.choice(("bool", "bool", "int", "string", "list:string"))
        expression = expressions.expression(kind, source.randrange(1, 6))
        compared += compare(expression, kind != "bool", random_device(source), source)
    return compared


if __name__ == "__main__":
    print(compare_random(int(sys.argv[1]), int(sys.argv[2])), "expressions compared, no difference")
