"""Compiling expressions: errors, types and costs as kube-apiserver 1.37.1 gives them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from deviceselectors import compiler
from deviceselectors.compiler import INTERNAL, INVALID, compile_expression
from deviceselectors.cost import COST_LIMIT, UNLIMITED
from deviceselectors.environment import Environment
from deviceselectors.runtime import effort
from deviceselectors.runtime import program as programs
from deviceselectors.runtime.program import program
from deviceselectors.runtime.values import CelPanic
from resourceapi.caches import ENTRY_BYTES, WeighedCache

_DATA = Path(__file__).parent / "data"


def _cases(name: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in json.loads((_DATA / name).read_text())]


def _environment(case: dict[str, Any]) -> Environment:
    return Environment(
        case.get("env", "new"), case.get("cc", True), case.get("lt", False), case.get("derived", False)
    )


def _check(case: dict[str, Any]) -> None:
    compiled = compile_expression(case["expression"], _environment(case))
    if "error" in case:
        assert compiled.error == case["error"]
        assert compiled.error_type == (INTERNAL if case.get("internal") else INVALID)
        assert compiled.max_cost == UNLIMITED
        assert compiled.ast is None
    else:
        assert compiled.error is None
        assert compiled.output_type is not None
        assert (compiled.output_type.output, compiled.max_cost) == (case["type"], case["cost"])


@pytest.mark.parametrize("case", _cases("syntax-errors.json"))
def test_syntax_errors(case: dict[str, Any]) -> None:
    """What does not parse is reported with the server's text, places and carets, however the parser goes on."""
    _check(case)


@pytest.mark.parametrize("case", _cases("type-errors.json"))
def test_type_errors(case: dict[str, Any]) -> None:
    """What parses but does not type check, gives no acceptable type or cannot become a program has the server's text."""
    _check(case)


@pytest.mark.parametrize("case", _cases("costs.json"))
def test_costs(case: dict[str, Any]) -> None:
    """The estimate is the server's number, unbounded sizes and its quirks included."""
    _check(case)


def test_measured_answers(shared: Path) -> None:
    """Every measured expression has the measured error text, or the measured type and cost."""
    differing = []
    for line in (shared / "corpus" / "cel.jsonl").read_text().splitlines():
        case = json.loads(line)
        compiled = compile_expression(case["expr"], _environment(case))
        expected = case["expect"]
        type_ = None if compiled.output_type is None else compiled.output_type.output
        if (compiled.error, compiled.max_cost) != (expected.get("error"), expected["maxCost"]) or (
            compiled.error is None and type_ != expected["outputType"]
        ):
            differing.append(case["id"])
    assert differing == []


def test_errors_have_places_in_the_source() -> None:
    """Errors are there with line and column, from 1, for tools that point into the user's file."""
    compiled = compile_expression("a &&\n  b", Environment())
    assert compiled.issues.locations() == [
        (1, 1, "undeclared reference to 'a' (in container '')"),
        (2, 3, "undeclared reference to 'b' (in container '')"),
    ]


@pytest.mark.parametrize(
    ("count", "last"), [(100, "ERROR: <input>:1:496:"), (101, "1 more errors were truncated")]
)
def test_at_most_100_errors_are_printed(count: int, last: str) -> None:
    """A hundred errors are printed; more are only counted."""
    compiled = compile_expression(" && ".join(["x"] * count), Environment())
    assert compiled.error is not None
    errors = [line for line in compiled.error.splitlines() if not line.startswith(" |")]
    assert len(errors) == min(count, 101)
    assert errors[-1].startswith(last)


@pytest.mark.parametrize(("count", "errors"), [(99, 99), (100, 100), (101, 101), (150, 101)])
def test_parsing_ends_after_100_syntax_errors(count: int, errors: int) -> None:
    """Behind the hundredth syntax error the next one is the last."""
    compiled = compile_expression("$" * count + " 1", Environment())
    assert compiled.issues.count == errors


@pytest.mark.parametrize(("levels", "compiles"), [(249, True), (250, False)])
def test_nesting_limit(levels: int, compiles: bool) -> None:
    """The expression and 249 parentheses make 250 nested expressions, which is the limit."""
    compiled = compile_expression("(" * levels + "true" + ")" * levels, Environment())
    assert (compiled.error is None) is compiles


@pytest.mark.parametrize(("characters", "compiles"), [(100_000, True), (100_001, False)])
def test_length_limit_of_the_parser(characters: int, compiles: bool) -> None:
    """The parser itself takes 100,000 code points; API validation has its own limit before."""
    compiled = compile_expression("true".ljust(characters), Environment())
    assert (compiled.error is None) is compiles


def test_results_are_kept() -> None:
    """The same expression in an equal environment is compiled once."""
    first = compile_expression("device.driver == 'kept'", Environment())
    assert compile_expression("device.driver == 'kept'", Environment()) is first
    assert compile_expression("device.driver == 'kept'", Environment(derived=True)) is not first


def test_kept_results_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old and long results are dropped. The attack: 512 of any length were kept, and those of 4 KB took 300 MB with their programs."""
    most = 20 * (2048 * compiler.CHARACTER_BYTES + ENTRY_BYTES)
    monkeypatch.setattr(compiler, "_cache", WeighedCache(most))
    monkeypatch.setattr(programs, "_cache", WeighedCache(most))
    for number in range(100, 130):
        program(compile_expression(f"{number}==0{'||[1][0]<1' * 200}".ljust(2048), Environment()))
    compile_expression("true".ljust(compiler._MAX_CACHED_LENGTH + 1), Environment())
    assert (len(compiler._cache), len(programs._cache)) == (20, 20)


def test_threads_get_the_same_answers() -> None:
    """Compiling from several threads at once gives what one thread gives."""
    expressions = [
        f"device.attributes['d'].exists(a, a == 'x{n}' && cel.bind(y, {n}, y > 1))" for n in range(50)
    ]
    alone = [compile_expression(e, Environment()).max_cost for e in expressions]
    compiler._cache.clear()
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda e: compile_expression(e, Environment()).max_cost, expressions * 4))
    assert together == alone * 4


def test_environment_must_be_known() -> None:
    """An environment other than the two that exist is the caller's mistake."""
    with pytest.raises(ValueError, match="new or stored"):
        Environment("old")


_HOSTILE = {
    "operators": "1" + "+1" * 5119,
    "signs": "-" * 10239 + "1",
    "open-brackets": "[" * 10240,
    "deep-lists": "[" * 5120 + "]" * 5120,
    "conditions": "true?1:" * 1462 + "1",
    "conjunction": "true" + "&&true" * 1706,
    "bad-characters": "$" * 10240,
    "quotes": '"' * 10239,
    "strangers": "a " * 5120,
    "optional-chain": "optional.of(1)" + ".optMap(x, x)" * 200,
    "optional-chains": " && ".join(["optional.of(1)" + ".optMap(x, x)" * 11 + ".hasValue()"] * 60),
    "doubling-types": "".join(f"cel.bind(x{i + 1},{{x{i}:x{i}}}," for i in range(200)).replace("x0", "1")
    + "x200",
    "doubling-type-in-text": "".join(f"cel.bind(x{i + 1},{{x{i}:x{i}}}," for i in range(30)).replace(
        "x0", "1"
    )
    + "x30"
    + ")" * 30,
    "loops": "".join(f"device.attributes.all(x{i}," for i in range(200)) + "true" + ")" * 200,
    "long-number": "1" * 10240,
    "long-regex": 'device.driver.matches("' + "(a*)*" * 2000 + '")',
    "long-name": "a" + ".b" * 5110 + "{}",
}


@pytest.mark.parametrize("expression", _HOSTILE.values(), ids=_HOSTILE.keys())
def test_hostile_expressions_are_answered(expression: str) -> None:
    """Whatever is in 10 KiB, there is an answer, and it is not longer than a hundred times the question and some."""
    compiled = compile_expression(expression[:10240], Environment())
    assert compiled.error is None or len(compiled.error) < 100 * (2 * 10240 + 500)


def test_cost_beyond_the_limit_is_left_to_validation() -> None:
    """An expensive expression compiles; who may not have it decides API validation."""
    compiled = compile_expression("string(1) + 'x' == '1x'", Environment())
    assert compiled.error is None
    assert compiled.max_cost > COST_LIMIT


@pytest.mark.parametrize(
    "expression", ['duration("1s") == duration("1s")', '"a".matches("a+")', 'timestamp("2026-01-01T00:00:00Z") == timestamp(0)']
)  # fmt: skip
def test_what_was_evaluated_before_costs_nothing(expression: str) -> None:
    """A thread that has had an evaluation end for want of memory checks the literals of the next expression as ever."""
    effort.begin()
    with pytest.raises(CelPanic):
        effort.spend(effort.LIMIT + 1)
    assert compile_expression(expression + " // again", Environment()).error is None
