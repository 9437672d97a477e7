"""Expressions that were written to get around the limits: each is answered as upstream answers it, or ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.libraries.max_sizes import MaxSize
from deviceselectors.runtime import bounds, effort, zones
from deviceselectors.runtime.device import MAX_TEXT, prepare_device
from deviceselectors.runtime.evaluator import Evaluator
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.program import COST_LIMIT, Program
from deviceselectors.runtime.values import CelError

DEVICE: dict[str, Any] = {"name": "d0", "attributes": {"a": {"string": "x"}}}
DRIVER = "gpu.example.com"
CANCELLED = "operation cancelled: actual cost limit exceeded"
OUT_OF_MEMORY = "out of memory"


def compiled_root(expression: str) -> Any:
    compiled = compile_expression(expression, Environment("stored"))
    assert compiled.ast is not None, compiled.error
    return compiled.ast


def outcomes(expression: str, device: dict[str, Any] = DEVICE) -> tuple[Any, Any]:
    """What the closures without counting say, and those that count: a value, or the text of an error."""
    program = Program(compiled_root(expression))
    prepared = prepare_device(device, DRIVER)
    try:
        match: Any = program.matches(prepared)
    except CelError as error:
        match = str(error)
    result = program.evaluate(prepared)
    return match, result.error if result.error is not None else result.value


def test_limit_of_cost_with_entries_of_other_maps() -> None:
    """A step of `transformMapEntry` may add any number of entries, and loops over them cost accordingly."""
    entries = ",".join(f"{number}:1" for number in range(110))
    loops = "m.all(a, m.all(b, m.all(c, a + b + c >= 0)))"
    for outcome in outcomes(f"cel.bind(m, [1].transformMapEntry(i, v, {{{entries}}}), {loops})"):
        assert outcome == CANCELLED


def test_loops_end_even_if_the_bound_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cost is not counted, the rounds of loops still count as effort; where it is, it is compared with its limit."""
    monkeypatch.setattr(bounds, "cost_bound", lambda plan: 1.0)
    numbers = "lists.range(1000)"
    program = Program(
        compiled_root(f"{numbers}.all(a, {numbers}.all(b, {numbers}.map(c, c).size() > a + b - 2000))")
    )
    prepared = prepare_device(DEVICE, DRIVER)
    with pytest.raises(CelError, match=OUT_OF_MEMORY):
        program.matches(prepared)
    assert program.evaluate(prepared).error == CANCELLED


def test_long_texts_in_lists_take_effort() -> None:
    """Comparing lists is charged by their length only; what their texts take counts as work beyond that."""
    text, double = 'dyn("aaaaaaaaaa")', "string(t)"
    for _ in range(16):
        text = f"cel.bind(t, {text}, {double} + {double})"
    for outcome in outcomes(
        f"cel.bind(s, {text}, cel.bind(r, {text}, cel.bind(l, [s,s,s,s,s,s,s,s], cel.bind(m, [r,r,r,r,r,r,r,r], "
        "lists.range(2000).all(j, l == m)))))"
    ):
        assert OUT_OF_MEMORY in str(outcome)


@pytest.mark.parametrize("zeros", [5_000, 9_000])
def test_long_precisions(zeros: int) -> None:
    """Zeros in front of a precision are nothing, however many: Python's own limit of digits does not show."""
    expression = f'"%.{"0" * zeros}1f".format([1.0]) == "1.0"'
    assert outcomes(expression) == (True, True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a/" * 4000 + "a", "file name too long"),
        ("a" * 256, "file name too long"),
        ("a" * 255, f"unknown time zone {'a' * 255}"),
        ("os/path", "unknown time zone os/path"),
        ("Europe/Berl in", "unknown time zone Europe/Berl in"),
        ("America", "is a directory"),
        (".", "is a directory"),
        ("a/", "unknown time zone a/"),
        ("Europe/Berlin/", "unknown time zone Europe/Berlin/"),
        ("../etc/passwd", "time: invalid location name"),
        ("/etc/passwd", "time: invalid location name"),
        ("Europe/./Berlin", False),
        ("Europe//Berlin", False),
    ],
)  # fmt: skip
def test_zones_are_files_of_zones(name: str, expected: Any) -> None:
    """A name becomes no path elsewhere and no package; errors are Go's."""
    expression = f'timestamp("2020-01-01T00:00:00Z").getHours({json.dumps(name)}) == 0'
    assert outcomes(expression) == (expected,) * 2


def test_zones_import_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own search for zones takes folders of a name for packages; ours does not."""
    zones._directories()
    asked: list[str] = []

    class Finder:
        def find_spec(self, name: str, *_: object) -> None:
            asked.append(name)

    monkeypatch.setattr("sys.meta_path", [Finder()])
    with pytest.raises(CelError):
        zones.zone("os/path")
    assert asked == []


def counted_sizes(monkeypatch: pytest.MonkeyPatch, expression: str) -> int:
    made = 0
    init: Callable[..., None] = MaxSize.__init__

    def count(self: MaxSize, *arguments: Any, **named: Any) -> None:
        nonlocal made
        made += 1
        init(self, *arguments, **named)

    root = compiled_root(expression)
    with monkeypatch.context() as patched:
        patched.setattr(MaxSize, "__init__", count)
        bounds.cost_bound(Plan(root))
    return made


@pytest.mark.parametrize(
    "inner", ["[a{before}]", "[dyn(a{before}), dyn([a{before}])]"], ids=["alone", "beside-another"]
)
def test_bound_of_deep_lists(monkeypatch: pytest.MonkeyPatch, inner: str) -> None:
    """Lists within lists, by way of variables deeper than the parser allows, take time in proportion to the text."""

    def nested(levels: int) -> str:
        expression = f"size(a{levels}) > 0"
        for level in range(levels, 0, -1):
            expression = f"cel.bind(a{level}, {inner.format(before=level - 1)}, {expression})"
        return f"cel.bind(a0, [device.driver], {expression})"

    few, many = (counted_sizes(monkeypatch, nested(levels)) for levels in (25, 100))
    assert many < 6 * few


@pytest.mark.parametrize(
    "attributes",
    [
        {"l": {"strings": ["x", "y" * (MAX_TEXT + 1)]}},
        {"l": {"string": "y" * (MAX_TEXT + 1)}},
        {"y" * (MAX_TEXT + 1): {"string": "x"}},
        {"l": {"version": "1.0.0-" + "y" * MAX_TEXT}},
        {"l": {"versions": ["1.0.0-" + "y" * MAX_TEXT]}},
    ],
    ids=["text-in-a-list", "text", "name", "version", "version-in-a-list"],
)
def test_devices_beyond_the_limits(attributes: dict[str, Any]) -> None:
    """A device that no API server lets through is known as such, the second time as well: bounds are not for it."""
    for _ in range(2):
        assert not prepare_device({"name": "d", "attributes": attributes}, DRIVER).plain
    limits = {"l": {"strings": ["y" * MAX_TEXT]}, "y" * MAX_TEXT: {"string": "y" * MAX_TEXT}}
    assert prepare_device({"name": "d", "attributes": limits}, DRIVER).plain


def test_folded_keys_are_checked() -> None:
    """A key that is computed is checked for its type, also where its value is known beforehand."""
    for outcome in outcomes('dyn(1u)[semver("1.2.3")] == 1'):
        assert "invalid qualifier type" in outcome


def test_effort_begins_anew() -> None:
    """What one evaluation has spent is not charged to the next."""
    plan = Plan(compiled_root("lists.range(1000).all(x, x >= 0)"))
    for _ in range(3):
        effort.begin()
        Evaluator(plan).counted(prepare_device(DEVICE, DRIVER), COST_LIMIT)
        assert effort.spent() < effort.LIMIT


def doubled(text: str, times: int, body: str) -> str:
    """An expression about `s`, which is a text after so many doublings."""
    for _ in range(times):
        body = f"cel.bind(s, s + s, {body})"
    return f"cel.bind(s, {json.dumps(text)}, {body})"


def test_numbers_that_are_nearly_right() -> None:
    """A text of digits that is no number is known as such in one pass: backtracking took time by its square."""
    refusal = "type conversion error from 'string' to 'double'"
    assert outcomes(doubled("0" * 4_000, 2, 'double(s + "x") > 1.0')) == (refusal,) * 2
    compiled = compile_expression(f'double("{"0" * 9_900}x") > 1.0', Environment("stored"))
    assert compiled.error == f"program instantiation failed: {refusal}"


@pytest.mark.parametrize("call", ["matches('{}')", "find('{}') == 'x'", "findAll('{}').size() == 1"])
def test_patterns_that_keep_all_instructions_busy(call: str) -> None:
    """An engine that must follow each instruction at each character is paid for that: 3.5 s in a single call before."""
    expression = doubled("abbabaabaaababbab" * 235, 8, f"s.{call.format('.*a(.{99}){9}c')}")
    for outcome in outcomes(expression):
        assert OUT_OF_MEMORY in str(outcome)


@pytest.mark.parametrize("call", [".replace('a', 'aa')", ".split('').join('aa')"])
def test_sizes_beyond_any_number(call: str) -> None:
    """Bounds of sizes that multiply with each call end somewhere: they became too large for a float, with a traceback."""
    for expression in (f"'b'{call * (10_000 // len(call))} == 'b'", f"'b'{call * 60} == 'b'"):
        compiled = compile_expression(expression, Environment("stored"))
        if compiled.ast is not None:
            assert Program(compiled.ast).evaluate(prepare_device(DEVICE, DRIVER)).value is True


@pytest.mark.parametrize(
    ("first", "step", "use"),
    [
        ("[1.5]", "[x, x]", "google.protobuf.ListValue{values: x}.size() == 2"),
        ("{'a': 1.5}", "{'a': x, 'b': x}", "google.protobuf.Struct{fields: x}.size() == 2"),
        ("[1]", "[x, x]", "'%s'.format([x]) == ''"),
        ("{1: 1}", "{1: x, 2: x}", "'%s'.format([x]) == ''"),
        ("[dyn(1)]", "[x, x]", "x.flatten(99) == []"),
        ("[1]", "[x, x]", "dyn(x).sum() == 1"),
    ],
    ids=["message-of-a-list", "message-of-a-map", "text-of-a-list", "text-of-a-map", "flat-list", "sum"],
)
def test_values_that_contain_themselves_twice(first: str, step: str, use: str) -> None:
    """Some hundred characters make a value of 2^30 parts, which nothing may go through; a message of it had no bound."""
    for _ in range(30):
        use = f"cel.bind(x, {step}, {use})"
    for outcome in outcomes(f"cel.bind(x, {first}, {use})"):
        assert OUT_OF_MEMORY in str(outcome)
