"""Evaluates random expressions with and without counting, and holds the cost against its bound and its limit.

`python -m tests.deviceselectors.runtime.random_evaluations SEED COUNT` does so with as many as you like.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.bounds import cost_bound
from deviceselectors.runtime.closures import CostExceededError
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.evaluator import Evaluator
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.program import COST_LIMIT, EvaluationError, Program
from deviceselectors.runtime.values import CelPanic
from tests.deviceselectors.runtime.random_expressions import Expressions, random_device


def _uncounted(program: Program, device: Any, derived: bool) -> tuple[Any, str | None]:
    try:
        return (program.attribute if derived else program.matches)(device), None
    except EvaluationError as error:
        return None, str(error)


def check(expression: str, derived: bool, given: dict[str, Any], source: random.Random) -> bool:
    """Evaluates an expression on a device in each way, and with a random limit; False if it does not compile."""
    compiled = compile_expression(expression, Environment("stored", derived=derived))
    if compiled.ast is None:
        return False
    program = Program(compiled.ast, derived=derived)
    device = prepare_device(given, given["driver"])
    result = program.evaluate(device)
    assert _uncounted(program, device, derived) == (result.value, result.error), expression
    if result.cost is None:
        return True
    plan = Plan(compiled.ast)
    bound = cost_bound(plan)
    if bound < COST_LIMIT:
        assert result.cost <= bound, expression
    limit = source.randrange(result.cost + 1)
    stopped = _stopped(plan, device, limit)
    assert result.cost <= limit if stopped is None else stopped > limit, (expression, limit)
    return True


def _stopped(plan: Plan, device: Any, limit: int) -> int | None:
    """The cost at which a limit ends an evaluation, None if it does not."""
    try:
        Evaluator(plan).counted(device, limit)
    except CostExceededError as error:
        return error.cost
    except CelPanic:
        pass
    return None


def check_random(seed: int, count: int) -> int:
    """Checks so many random expressions on random devices; how many of them compile."""
    source = random.Random(seed)
    expressions = Expressions(source)
    checked = 0
    for _ in range(count):
        kind = source.choice(("bool", "bool", "int", "string", "list:string"))
        expression = expressions.expression(kind, source.randrange(1, 6))
        checked += check(expression, kind != "bool", random_device(source), source)
    return checked


if __name__ == "__main__":
    print(check_random(int(sys.argv[1]), int(sys.argv[2])), "expressions checked, nothing found")
