"""Random wrong expressions get the error texts of upstream's compiler."""

from __future__ import annotations

import os
import random
import re

import pytest

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from tests.deviceselectors.runtime.random_expressions import Expressions
from tests.deviceselectors.wrong_expressions import WrongExpressions
from tests.e2e import referee
from tests.e2e.seed import SEED

EXPRESSIONS = int(os.environ.get("CLAIMCHECK_E2E_EXPRESSIONS") or 30_000)
_CHUNK = 5_000

pytestmark = pytest.mark.skipif(not referee.is_available(), reason="the referee's sources are not there")


def test_wrong_expressions_get_upstream_s_errors() -> None:
    """Every error text with its places and carets is upstream's, apart from numbers that upstream itself draws.

    The expressions are fresh in every run, CLAIMCHECK_E2E_SEED repeats one.
    """
    print(f"CLAIMCHECK_E2E_SEED={SEED}")
    draw = random.Random(SEED)
    differing: list[str] = []
    for start in range(0, EXPRESSIONS, _CHUNK):
        texts = [_expression(draw) for _ in range(min(_CHUNK, EXPRESSIONS - start))]
        for text, answer in zip(texts, referee.ask([{"expr": t, "env": "new"} for t in texts]), strict=True):
            error = compile_expression(text, Environment()).error
            if _without_random(error) != _without_random(answer.get("error")):
                differing.append(f"{text!r}\n  {error}\n  {answer.get('error')}")
    print(f"{EXPRESSIONS} expressions, {len(differing)} answered differently")
    assert differing == []


def _expression(draw: random.Random) -> str:
    wrong = WrongExpressions(draw)
    kind = draw.randrange(8)
    if kind == 0:
        return wrong.tokens()
    if kind < 4:
        return wrong.ill_typed(draw.randint(1, 4))
    if kind < 6:
        return wrong.broken(wrong.ill_typed(draw.randint(1, 3)))
    return wrong.broken(Expressions(draw).expression("bool", draw.randint(1, 4)))


def _without_random(error: str | None) -> str:
    """The error without the numbers of type variables: where there are several, upstream gives them in random order."""
    return re.sub(r"_var\d+", "_var", error or "")
