"""Selectors of named resources as selectors of devices: what they become, and that they mean the same."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from classic.migration import expressions
from classic.migration.expressions import ExpressionError, for_devices
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import environment_of, environment_of_named_resources
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import program

DRIVER = "gpu.example.com"
ATTRIBUTES = f'device.attributes["{DRIVER}"]'
CAPACITY = f'device.capacity["{DRIVER}"]'


@pytest.mark.parametrize(
    ("classic", "today"),
    [
        ("true", "true"),
        ('attributes.int["cores"] > 4', f"{ATTRIBUTES}.cores > 4"),
        ("attributes.int.cores > 4", f"{ATTRIBUTES}.cores > 4"),
        ('attributes.bool["mig-enabled"]', f"{ATTRIBUTES}.migEnabled"),
        (
            'attributes.quantity["memory"].compareTo(quantity("20Gi")) >= 0',
            f'{CAPACITY}.memory.compareTo(quantity("20Gi")) >= 0',
        ),
        ('"a" in attributes.string', f'"a" in {ATTRIBUTES}'),
        ('"a" in attributes.quantity', f'"a" in {CAPACITY}'),
        ("has(attributes.string.a)", f"has({ATTRIBUTES}.a)"),
        ('attributes.string[?"a"].orValue("b") == "c"', f'{ATTRIBUTES}[?"a"].orValue("b") == "c"'),
        ('attributes.string.?a.orValue("b") == "c"', f'{ATTRIBUTES}.?a.orValue("b") == "c"'),
        (
            'attributes.version["v"].isGreaterThan(semver("1.0.0"))',
            f'{ATTRIBUTES}.v.isGreaterThan(semver("1.0.0"))',
        ),
        ('[1, 2].exists(n, attributes.int["a"] == n)', f"[1, 2].exists(n, {ATTRIBUTES}.a == n)"),
        # what looks like an attribute in a text stays
        (
            """attributes.string["a"] == 'attributes.int["b"]'""",
            f'{ATTRIBUTES}.a == "attributes.int[\\"b\\"]"',
        ),
        (
            '!(attributes.bool["a"] || attributes.bool["b"]) && attributes.bool["c"]',
            f"!({ATTRIBUTES}.a || {ATTRIBUTES}.b) && {ATTRIBUTES}.c",
        ),
    ],
)
def test_what_they_become(classic: str, today: str) -> None:
    """They were selectors in 1.30, and are selectors now."""
    assert compile_expression(classic, environment_of_named_resources(False)).error is None
    assert for_devices(classic, DRIVER, {}) == today
    assert compile_expression(today, environment_of(True, False, False)).error is None


@pytest.mark.parametrize(
    ("classic", "reason"),
    [
        ("attributes.string.size() > 0", "attributes as a whole"),
        ('attributes.string.all(name, name != "a")', "attributes as a whole"),
        ('attributes.string["a" + "b"] == "c"', "the name of an attribute that is worked out"),
        ('"a" in attributes.stringslice["b"]', "attributes that are lists need the feature gate"),
        ('attributes.intslice["b"][0] == 1', "attributes that are lists need the feature gate"),
        ('[1].exists(device, attributes.int["a"] == device)', "a variable with the name device"),
        ("[1].exists(attributes, attributes == 1)", "a variable with the name attributes"),
        ('attributes.int["0"] == 1', "'0' can be no name of an attribute"),
        (f'attributes.int["{"a" * 33}"] == 1', "at most 32 characters"),
        ('attributes.int["a', "no CEL"),
        (f"{'(' * 400}true{')' * 400}", "no CEL"),
        (" || ".join(["true"] * 3000), "longer than 10,240 bytes"),
        (" && ".join(['attributes.int["a"] == 1'] * 300), "longer than 10,240 bytes"),
    ],
)
def test_what_has_no_equivalent(classic: str, reason: str) -> None:
    """The reason is said."""
    with pytest.raises(ExpressionError, match=re.escape(reason)):
        for_devices(classic, DRIVER, {})


def test_names_of_a_mapping() -> None:
    """They go before camel case."""
    assert for_devices('attributes.int["a-b"] == 1', DRIVER, {"a-b": "c"}) == f"{ATTRIBUTES}.c == 1"


Meaning = Callable[[dict[str, Any]], bool]


def _expression(source: random.Random, depth: int) -> tuple[str, Meaning]:
    """A selector, and what it says about attributes."""
    if depth and source.random() < 0.6:
        left, means_left = _expression(source, depth - 1)
        right, means_right = _expression(source, depth - 1)
        return source.choice(
            [
                (f"({left}) && ({right})", lambda given: means_left(given) and means_right(given)),
                (f"({left}) || ({right})", lambda given: means_left(given) or means_right(given)),
                (f"!({left})", lambda given: not means_left(given)),
            ]
        )
    number = source.randint(0, 3)
    return source.choice(
        [
            (f'attributes.int["a-number"] > {number}', lambda given: given["a-number"] > number),
            (f'{number} == attributes.int["a-number"]', lambda given: given["a-number"] == number),
            ('attributes.bool["flag"]', lambda given: given["flag"]),
            (f'attributes.string.name == "{number}"', lambda given: given["name"] == str(number)),
            (
                f'attributes.quantity["some.memory"].isGreaterThan(quantity("{number}Gi"))',
                lambda given: given["some.memory"] > number,
            ),
            (
                f'attributes.version["v"].compareTo(semver("{number}.0.0")) == -1',
                lambda given: given["v"] < number,
            ),
            ('"no-such" in attributes.string', lambda given: False),
        ]
    )


@pytest.mark.parametrize("seed", range(200))
def test_they_mean_the_same(seed: int) -> None:
    """A device is selected now if its named resource was selected then."""
    source = random.Random(seed)
    classic, meaning = _expression(source, 4)
    assert compile_expression(classic, environment_of_named_resources(False)).error is None
    today = program(compile_expression(for_devices(classic, DRIVER, {}), environment_of(True, False, False)))
    for _ in range(10):
        given = {name: source.randint(0, 3) for name in ("a-number", "some.memory", "v")}
        given["flag"] = source.random() < 0.5
        named = {**given, "name": str(source.randint(0, 3))}
        device = {
            "name": "gpu",
            "attributes": {
                "aNumber": {"int": given["a-number"]},
                "flag": {"bool": given["flag"]},
                "name": {"string": named["name"]},
                "v": {"version": f"{given['v']}.0.0"},
            },
            "capacity": {"someMemory": {"value": f"{given['some.memory']}Gi"}},
        }
        result = today.evaluate(prepare_device(device, DRIVER))
        assert result.error is None
        assert result.value is meaning(named)


@pytest.mark.parametrize(
    ("glob", "matches", "others"),
    [
        ("*A100*", ["nvidia a100-sxm4"], ["nvidia h100"]),
        ("Tesla (T4)", ["tesla (t4)"], ["tesla t4", "xtesla (t4)"]),
        ("a.c", ["a.c"], ["abc"]),
        ("^[x]\\$", ["^[x]\\$"], ["x"]),
        ("*", ["", "anything"], []),
    ],
)
def test_patterns(glob: str, matches: list[str], others: list[str]) -> None:
    """Only * means something else than itself, and letters are those of either case."""
    pattern = expressions.pattern_of_glob(glob)
    tree = expressions.with_value(f"{ATTRIBUTES}.name.lowerAscii().matches(value)", pattern)
    compiled = compile_expression(expressions.condition(tree), environment_of(True, False, False))
    for names, expected in ((matches, True), (others, False)):
        for name in names:
            device = prepare_device({"name": "gpu", "attributes": {"name": {"string": name}}}, DRIVER)
            assert program(compiled).evaluate(device).value is expected


@pytest.mark.parametrize(
    "value", ['" || true || "', "\\", "\n", "\u2028", "é", "${x}", "'", 7, -7, True, 1.5]
)
def test_values_stay_values(value: Any) -> None:
    """Whatever is in a parameter, it is a literal in the condition."""
    text = expressions.condition(expressions.with_value(f"{ATTRIBUTES}.x == value", value))
    if isinstance(value, str):
        device = prepare_device({"name": "gpu", "attributes": {"x": {"string": value}}}, DRIVER)
        compiled = compile_expression(text, environment_of(True, False, False))
        assert program(compiled).evaluate(device).value is True
    assert text.count("==") == 1


@pytest.mark.parametrize("value", [None, [], {}, 2**63, {"value": 1}])
def test_what_is_no_value(value: Any) -> None:
    """Lists and mappings are none."""
    with pytest.raises(ExpressionError):
        expressions.with_value("value == 1", value)
