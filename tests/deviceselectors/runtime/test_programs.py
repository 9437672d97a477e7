"""Programs as other packages use them: devices, errors, caching, threads."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from deviceselectors.compiler import CHARACTER_BYTES, compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime import program as programs
from deviceselectors.runtime.device import MAX_TEXT, prepare_device
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError, program
from resourceapi.caches import ENTRY_BYTES, WeighedCache

_STORED = Environment("stored")
_DERIVED = Environment("stored", derived=True)


def make(expression: str, environment: Environment = _STORED) -> Program:
    return program(compile_expression(expression, environment))


def device(attributes: dict[str, Any] | None = None, driver: str = "d.example.com", **rest: Any) -> Any:
    return prepare_device({"attributes": attributes or {}, **rest}, driver)


def test_default_domain() -> None:
    """A name without domain belongs to the driver's; with one it does not."""
    subject = device({"a": {"int": 2}, "x.example.com/a": {"int": 3}})
    assert make('device.attributes["d.example.com"].a == 2').matches(subject)
    assert make('device.attributes["x.example.com"].a == 3').matches(subject)


def test_unknown_domain_is_an_empty_map() -> None:
    """Of an unknown domain only its identifiers are missing."""
    subject = device()
    assert make('device.attributes["nope"].size() == 0 && !("nope" in device.attributes)').matches(subject)
    with pytest.raises(EvaluationError, match=r"^no such key: a\. consider using CEL optional chaining"):
        make('device.attributes["nope"].a == 1').matches(subject)


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        pytest.param({}, "attribute a: unsupported attribute value", id="no-value"),
        pytest.param(
            {"version": "1"},
            "attribute a: parse semantic version: No Major.Minor.Patch elements found",
            id="bad-version",
        ),
        pytest.param(
            {"versions": ["1.2.3", ""]},
            "attribute a: parse semantic version: Version string empty",
            id="bad-version-in-list",
        ),
    ],
)
def test_improper_attribute_fails_every_evaluation(attribute: dict[str, Any], text: str) -> None:
    """Even `true` fails on a device with an attribute that has no proper value, and costs nothing."""
    subject = device({"a": attribute})
    result = make("true").evaluate(subject)
    assert (result.value, result.error, result.cost) == (None, text, None)
    with pytest.raises(EvaluationError) as failure:
        make("true").matches(subject)
    assert str(failure.value) == text


def test_list_wins_over_scalar() -> None:
    """Of several values of an attribute, ints come first, then bools, strings, versions; lists before scalars."""
    subject = device(
        {"a": {"string": "x", "int": 1, "strings": ["y"], "bools": [True]}, "b": {"string": "x", "int": 1}}
    )
    assert make('device.attributes["d.example.com"].a == [true]').matches(subject)
    assert make('device.attributes["d.example.com"].b == 1').matches(subject)


@pytest.mark.parametrize(
    ("expression", "attribute"),
    [
        pytest.param('"a" + "b"', {"string": "ab"}, id="string"),
        pytest.param("[1, 2]", {"ints": [1, 2]}, id="ints"),
        pytest.param('[semver("1.2.3")]', {"versions": ["1.2.3"]}, id="versions"),
        pytest.param('["a"].filter(x, false)', {}, id="empty-list"),
    ],
)
def test_derived_attribute(expression: str, attribute: dict[str, Any]) -> None:
    """A derived attribute is given in the form of the API."""
    assert make(expression, _DERIVED).attribute(device()) == attribute


def test_result_that_is_no_bool() -> None:
    """A selector of the attribute's type must give a bool at run time."""
    subject = device({"a": {"string": "x"}})
    text = "CEL result of type string could not be converted to bool: unsupported native conversion from string to 'bool'"
    with pytest.raises(EvaluationError) as failure:
        make('device.attributes["d.example.com"].a').matches(subject)
    assert str(failure.value) == text


def test_constant_error_makes_no_program() -> None:
    """A conversion of a constant that fails is found when the program is made."""
    compiled = compile_expression('int("x") == 1', _STORED)
    assert compiled.error == "program instantiation failed: type conversion error from 'string' to 'int'"
    with pytest.raises(ValueError, match="does not compile"):
        program(compiled)
    assert issubclass(ProgramError, ValueError)


def test_cost_limit_at_and_above() -> None:
    """An evaluation may cost 1,000,000 but no more."""
    # lists.range(n) costs n + 11, size and equality one each
    assert make("lists.range(999987).size() == 999987").evaluate(device()).cost == 1_000_000
    result = make("lists.range(999988).size() == 999988").evaluate(device())
    assert (result.error, result.cost) == ("operation cancelled: actual cost limit exceeded", 1_000_001)


def test_oversized_device_is_counted() -> None:
    """On a device beyond the API's limits the cost is counted, although the expression alone would be harmless."""
    text = "a" * 60_000
    subject = device({"a": {"string": text}})
    expression = 'device.attributes["d.example.com"].a.contains(device.attributes["d.example.com"].a)'
    assert len(text) > MAX_TEXT
    with pytest.raises(EvaluationError, match="actual cost limit exceeded"):
        make(expression).matches(subject)
    assert make(expression).matches(device({"a": {"string": "aaa"}}))


@pytest.mark.parametrize(
    ("expression", "match"),
    [
        pytest.param("[true, false].all(x, __result__ || x)", True, id="all"),
        pytest.param("[1, 2].exists(x, __result__ == false && x == 2)", True, id="exists"),
        pytest.param("[1, 2].exists(x, __result__)", False, id="exists-by-nothing-else"),
    ],
)
def test_accumulator_that_can_be_named(expression: str, match: bool) -> None:
    """Until 1.32 expressions can name what `all` and `exists` have found so far; that is the same without counting."""
    compiled = compile_expression(expression, Environment("stored", release=32))
    subject = Program(compiled.ast)  # type: ignore[arg-type]
    assert subject.evaluate(device()).value is match
    assert subject.matches(device()) is match


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same expression gives the same program; the oldest programs are forgotten."""
    most = 2 * (6 * CHARACTER_BYTES + ENTRY_BYTES)
    monkeypatch.setattr(programs, "_cache", WeighedCache(most))
    first = make("1 < 2")
    assert make("1 < 2") is first
    for i in range(3):
        make(f"1 < {i}0")
    assert len(programs._cache) == 2
    assert make("1 < 2") is not first


def test_threads_share_a_program() -> None:
    """Evaluations in several threads don't disturb each other, from the first use on."""
    expression = (
        'device.attributes["d.example.com"].exists(a, a == "a") && device.attributes["d.example.com"].n > 500'
    )
    subject = program(compile_expression(expression, _STORED))
    devices = [device({"a": {"bool": True}, "n": {"int": n}}) for n in range(1000)]
    with ThreadPoolExecutor(4) as pool:
        matches = list(pool.map(subject.matches, devices))
        costs = {result.cost for result in pool.map(subject.evaluate, devices)}
    assert matches == [n > 500 for n in range(1000)]
    assert len(costs) == 1


@pytest.mark.parametrize(
    "entry", [{}, None, {"value": None}, {"value": 0}], ids=["empty", "null", "null-value", "number"]
)
def test_capacity_without_value_is_zero(entry: dict[str, Any] | None) -> None:
    """As the API decodes it."""
    subject = device(capacity={"memory": entry})
    assert make('device.capacity["d.example.com"].memory == quantity("0")').matches(subject)


def test_capacity_that_is_no_quantity() -> None:
    """What the API server would not have let through is refused."""
    with pytest.raises(ValueError, match="quantities must match the regular expression"):
        device(capacity={"memory": {"value": "much"}})


def test_attribute_that_is_null() -> None:
    """A null attribute has no value."""
    assert device({"a": None}).error == "attribute a: unsupported attribute value"


_WATCHED = """
import sys

watched = False

def watch(event, arguments):
    if watched and event in ("compile", "exec", "import", "code.__new__", "function.__new__"):
        print(event, arguments, flush=True)
        import os; os._exit(1)

sys.addaudithook(watch)
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import program

device = prepare_device({}, "d.example.com")
for number in range(20):
    expression = f'device.driver == "{number}" || [{number}, 2].exists(x, x > {number + 1})'
    compiled = compile_expression(expression, Environment("stored"))
    made = program(compiled)
    made.matches(device), made.evaluate(device), Explainer(compiled.ast).explain(device)
    watched = True  # all that is loaded late is there
if len(sys.argv) > 1:
    exec(sys.argv[1])
print("done")
"""


@pytest.mark.parametrize(
    ("more", "printed"), [([], "done\n"), (["1"], "compile (b'1', '<string>')\n")], ids=["none", "alarm"]
)
def test_no_code_is_made(more: list[str], printed: str) -> None:
    """Whatever is evaluated, Python's compiler is not called, and no code runs that was not there before.

    The alarm shows that a call would be seen.
    """
    command = [sys.executable, "-c", _WATCHED, *more]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert done.stdout == printed, done.stderr


@pytest.mark.parametrize("environment", [_STORED, _DERIVED], ids=["selector", "derived"])
def test_error_is_the_same_with_and_without_counting(environment: Environment) -> None:
    """Callers that add kube-scheduler's hint, and those that do not, find the error's text without it."""
    looked_up = 'device.attributes["d.example.com"].missing'
    expression = f"{looked_up} == 1" if environment is _STORED else looked_up
    compiled = compile_expression(expression, environment)
    found = set()
    quick = program(compiled)
    for made in (quick, program(compiled, cost_limit=int(quick.cost_bound))):
        ask = made.matches if environment is _STORED else made.attribute
        with pytest.raises(EvaluationError) as raised:
            ask(device())
        found.add((raised.value.message, str(raised.value), made.evaluate(device()).error))
    [(message, printed, evaluated)] = found
    assert message == "no such key: missing"
    assert printed == evaluated != message
