"""What generated code holds and can reach: its table of constants, and nothing that an expression's author wrote."""

from __future__ import annotations

import builtins
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import pytest

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime import verifier
from deviceselectors.runtime.fast_path import FastGenerator
from deviceselectors.runtime.generator import Generator
from deviceselectors.runtime.planning import Plan, ProgramError
from deviceselectors.runtime.program import COST_LIMIT
from deviceselectors.runtime.verifier import UnsafeCodeError
from tests.deviceselectors.runtime.random_expressions import Expressions

DIRECTORY = Path(__file__).parents[3]
INJECTIONS = json.loads((Path(__file__).parent / "data" / "injections.json").read_text(encoding="utf-8"))
ADR = DIRECTORY / "docs" / "explanation" / "adr" / "0012-generated-code-is-trees.md"
_TEXT = 'device.attributes["gpu.example.com"].model'

VARIANTS: dict[str, Callable[[Plan], Generator]] = {
    "fast": FastGenerator,
    "exact": lambda plan: Generator(plan, COST_LIMIT),
    "bounded": lambda plan: Generator(plan, COST_LIMIT, bounded=True),
}


def _plan(expression: str) -> Plan | None:
    compiled = compile_expression(expression, Environment("stored"))
    try:
        return Plan(compiled.ast) if compiled.ast is not None else None
    except ProgramError:
        return None


def _expressions() -> list[str]:
    made = Expressions(random.Random(12))
    return [case["expression"] for case in INJECTIONS["cases"]] + [
        made.expression("bool", 5) for _ in range(150)
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_reach(variant: str) -> None:
    """The globals are the table, the functions and no builtins; constants are numbers of the generator's own."""
    seen = 0
    for plan in map(_plan, _expressions()):
        if plan is None:
            continue
        program = VARIANTS[variant](plan).program()
        reachable = program.__globals__
        assert reachable["__builtins__"] == {}
        assert program.__builtins__ == {}
        names = reachable.keys() - {"__builtins__"}
        assert all(re.fullmatch("program|[Kf][1-9][0-9]*", name) for name in names)
        for function in reachable.values():
            if isinstance(function, FunctionType) and function.__globals__ is reachable:
                _require_plain(function)
                seen += 1
    assert seen > 100


def _require_plain(function: FunctionType) -> None:
    code = function.__code__
    flat = [part for each in code.co_consts for part in (each if isinstance(each, tuple) else (each,))]
    assert all(each is None or isinstance(each, int) for each in flat)
    assert not any("__" in name for name in (*code.co_names, *code.co_varnames, code.co_name))
    assert set(code.co_names) <= function.__globals__.keys() | verifier.ATTRIBUTES
    assert function.__closure__ is None


def test_table_has_no_way_out() -> None:
    """No function of Python's that runs, imports, opens or looks into something is ever in a table."""
    allowed = {type, len}
    for plan in map(_plan, _expressions()):
        for variant in VARIANTS.values() if plan is not None else ():
            generator = variant(plan)  # type: ignore[arg-type]
            generator.program()
            own = {
                value for value in generator.table.values() if getattr(value, "__module__", "") == "builtins"
            }
            functions = own & {each for each in vars(builtins).values() if callable(each)} - allowed
            assert all(isinstance(each, type) and each not in (object, super) for each in functions)


def test_refused_code_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that reaches for something else does not get its function."""
    monkeypatch.setattr(verifier, "ATTRIBUTES", verifier.ATTRIBUTES - {"attributes"})
    plan = _plan(f"{_TEXT} == 'x'")
    assert plan is not None
    for variant in VARIANTS.values():
        with pytest.raises(UnsafeCodeError, match="an attribute that generated code has no use for"):
            variant(plan).program()


def _size(expression: str) -> int:
    plan = _plan(expression)
    assert plan is not None, expression
    program = FastGenerator(plan).program()
    own = [each for each in program.__globals__.values() if isinstance(each, FunctionType)]
    return sum(len(each.__code__.co_code) for each in own if each.__globals__ is program.__globals__)


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(f"{_TEXT}.contains(string({{0}}))", id="contains"),
        pytest.param(f"dyn({_TEXT}).startsWith(string({{0}}))", id="starts-with"),
        pytest.param("semver(string({0})).compareTo(semver('1.0.0'))", id="compare-to"),
        pytest.param(f"({{0}} ? {_TEXT} : 'x') == 'y'", id="conditional"),
        pytest.param("[{0}, true].exists(x, x)", id="exists"),
    ],
)  # fmt: skip
def test_size_follows_the_expression(step: str) -> None:
    """No operand is written twice: code for twice the nesting is hardly more than twice as long."""
    sizes = []
    for depth in (4, 8):
        expression = "1" if "compareTo" in step else "true"
        for _ in range(depth):
            expression = step.format(expression)
        sizes.append(_size(f"{expression} == {'1' if 'compareTo' in step else 'true'}"))
    assert sizes[1] < sizes[0] * 3


def test_every_hit_is_explained() -> None:
    """Whatever at run time replaces text, executes or compiles stands in the decision record, line by line."""
    hits = [
        f"{file.name}: `{line.strip()}`"
        for folder in ("libraries", "runtime")
        for file in sorted((DIRECTORY / "deviceselectors" / folder).glob("*.py"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"\.replace\(|exec\(|compile\(", line)
    ]
    explained = re.findall(r"^- (\w+\.py: `.+?`): ", ADR.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(explained) == sorted(hits)
