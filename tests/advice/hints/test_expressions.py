"""Hints for CEL expressions that do not compile."""

from __future__ import annotations

import pytest

from advice.hints import hint_for
from advice.hints.expressions import STRING
from advice.hints.hint import Problem
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment, environment_of
from resourceapi.field_errors import FORBIDDEN, INVALID
from resourceapi.releases import Profile

ENVIRONMENT = Environment("new")
PATH = ("spec", "selectors", 0, "cel", "expression")


def _hint(
    expression: str,
    rule: str = INVALID,
    message: str = "compilation failed",
    profile: Profile | None = None,
) -> tuple[str, str]:
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    name, advice = hint_for(Problem(rule, message, PATH, manifest, profile or Profile()))
    return name, advice.text


@pytest.mark.parametrize(
    ("expression", "name", "text"),
    [
        (
            'device.capacity["d.example.com"].memory.quantity >= 80',
            "capacity-field",
            'compare the capacity itself, it is a quantity: `device.capacity["<driver>"].memory.compareTo(quantity("10Gi")) >= 0`',
        ),
        (
            "device.capacity['d'].memory > 80.GiB",
            "quantity-literal",
            'write the quantity as a string: `quantity("80Gi")`',
        ),
        (
            "device.capacity['d'].memory > 80Gi",
            "quantity-literal",
            'write the quantity as a string: `quantity("80Gi")`',
        ),
        (
            'device.capacity["d.example.com"].memory >= quantity("10Gi")',
            "quantity-operator",
            'use `….compareTo(quantity("10Gi")) >= 0` or `.isGreaterThan(…)`: quantities have no `<` and `>`',
        ),
        (
            'device.driver == "d.example.com")',
            "unbalanced-brackets",
            "unbalanced brackets: a `(` is missing, or there is one `)` too many",
        ),
        (
            '(device.driver == "("',
            "unbalanced-brackets",
            "unbalanced brackets: a `)` is missing, or there is one `(` too many",
        ),
        (
            "[[1, 2].size() == 2",
            "unbalanced-brackets",
            "unbalanced brackets: a `]` is missing, or there is one `[` too many",
        ),
        ('device.driver == "a" and true', "words-for-operators", "write `&&` instead of `and` in CEL"),
        ('device.driver = "a"', "single-equals", "write `==` for equality"),
        ('device.driver == "a and b ("', "", ""),
        ('device.drivers == "a"', "", ""),
    ],
    ids=lambda value: value if len(value) < 60 else "…",
)
def test_idioms(expression: str, name: str, text: str) -> None:
    """Idioms that people try get the one that works; texts inside of quotes do not matter."""
    assert _hint(expression) == (name, text)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('device.attribute["a"].b == 1', "did you mean `attributes`?"),
        ('devices.driver == "a"', "did you mean `device`?"),
    ],
)
def test_misspelt_names(expression: str, text: str) -> None:
    """The compiler says which name it does not know."""
    name = expression.partition(".")[0]
    field = expression.partition(".")[2].partition(" ")[0].partition("[")[0]
    what = f"undefined field '{field}'" if name == "device" else f"undeclared reference to '{name}'"
    assert _hint(expression, message=f"compilation failed: ERROR: <input>:1:7: {what}")[1] == text


@pytest.mark.parametrize(
    ("expression", "name", "works"),
    [
        (
            'device.capacity["d.example.com"].memory >= "40Gi"',
            "quantity-with-other",
            'device.capacity["d.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
        ),
        (
            "true && device.capacity['d.example.com'].memory==40",
            "quantity-with-other",
            "device.capacity['d.example.com'].memory.compareTo(quantity(\"40\")) == 0",
        ),
        (
            '"40Gi" < device.capacity["d.example.com"].memory',
            "quantity-with-other",
            'device.capacity["<driver>"].memory.compareTo(quantity("10Gi")) >= 0',
        ),
        (
            'device.capacity["d.example.com"].memory >= "much"',
            "quantity-with-other",
            'device.capacity["<driver>"].memory.compareTo(quantity("10Gi")) >= 0',
        ),
        (
            "'d.example.com/index' in device.attributes && device.attributes['d.example.com/index'] > 1",
            "attribute-without-domain",
            'device.attributes["d.example.com"].index',
        ),
        (
            'device.attributes["d.example.com"].a == 1 && device.attributes["d.example.com/b"].contains("c")',
            "attribute-without-domain",
            'device.attributes["d.example.com"].b',
        ),
        (
            'device.attributes["mbaMode"] == "percent"',
            "attribute-without-domain",
            'device.attributes["<driver>"].mbaMode',
        ),
        (
            'device.attributes.model == "A100"',
            "attribute-without-domain",
            'device.attributes["<driver>"].model',
        ),
        (
            'device.capacity.memory >= quantity("40Gi")',
            "attribute-without-domain",
            'device.capacity["<driver>"].memory.compareTo(quantity("10Gi")) >= 0',
        ),
        ('device.model == "A100"', "attribute-as-field", 'device.attributes["<driver>"].model'),
        (
            'device.memory >= quantity("40Gi")',
            "attribute-as-field",
            'device.capacity["<driver>"].memory.compareTo(quantity("10Gi")) >= 0',
        ),
        (
            'device.attributes["d.example.com"].model =~ "A.*"',
            "match-operator",
            'device.attributes["d.example.com"].model.matches("A.*")',
        ),
        ('model =~ "A.*"', "match-operator", 'device.attributes["<driver>"].model.matches("^a100")'),
    ],
    ids=lambda text: text[:40],
)
def test_hints_that_name_an_expression(expression: str, name: str, works: str) -> None:
    """The server refuses what people try, and takes what the hint names."""
    errors = compile_expression(expression, ENVIRONMENT).error
    assert errors
    found, text = _hint(expression, message=errors)
    assert (found, text.partition(": `")[2].rstrip("`")) == (name, works)
    refused = compile_expression(works, ENVIRONMENT).error
    assert not refused or "must evaluate to bool" in refused  # the name of an attribute, still to be compared


@pytest.mark.parametrize(
    ("release", "problem", "text"),
    [
        (
            "1.34",
            "undefined field 'allowMultipleAllocations'",
            "`allowMultipleAllocations` cannot be used: feature gate DRAConsumableCapacity is off in 1.34 "
            + "(on by default from 1.36)",
        ),
        (
            "1.37",
            "undeclared reference to 'includes'",
            "`includes` cannot be used: feature gate DRAListTypeAttributes is off in 1.37 "
            + "(off by default up to 1.37; turn it on with --feature-gates DRAListTypeAttributes=true)",
        ),
        ("1.36", "undefined field 'allowMultipleAllocations'", ""),
    ],
)
def test_gated_names(release: str, problem: str, text: str) -> None:
    """What another release or gate has is no slip."""
    message = f"compilation failed: ERROR: <input>:1:7: {problem}"
    assert _hint("device.something", message=message, profile=Profile(release))[1] == text


def test_cost() -> None:
    """An expression that is too dear gets advice of another kind."""
    name, text = _hint("true", FORBIDDEN, "Forbidden: too complex, exceeds cost limit")
    assert name == "too-complex"
    assert "without nested loops" in text


@pytest.mark.parametrize("expression", ['\\"' * 5000, '"' + "\\'" * 5000])
def test_quotes_that_nothing_closes_are_read_once(expression: str) -> None:
    """The search does not start again at each quote in a string that does not end."""
    assert len(list(STRING.finditer(expression))) == 1
    assert _hint(expression + " = 1")[0] == "single-equals"


@pytest.mark.parametrize(
    ("expression", "release", "text"),
    [
        ("[3, 1, 2].sort()[0] == 1", 34, "without this `sort`, or use a later release: expressions can use it from 1.35 on"),
        ("[1, 2].all(i, v, i < v)", 32, "without this `all`, or use a later release: expressions can use it from 1.33 on"),
        ('semver("v1", true).major() == 1', 33, "without this `semver`, or use a later release: expressions can use it from 1.34 on"),
        ("lists.range(3)[0] == 0", 33, "without this `lists.range`, or use a later release: expressions can use it from 1.35 on"),
        ('duration(device.driver.size()) > duration("1s")', 37, "without this `duration`: 1.36 is the last release in which expressions can use it"),
        ("[1].sorted()[0] == 1", 34, ""),
        ("[1].sort().sorted() == [1]", 34, ""),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 60 else None,
)  # fmt: skip
def test_functions_of_other_releases(expression: str, release: int, text: str) -> None:
    """What this release does not know and another one does: from which one on, or up to which."""
    error = compile_expression(expression, environment_of(False, False, False, release)).error
    assert error is not None
    assert _hint(expression, message=error, profile=Profile(f"1.{release}"))[1] == (
        text and f"write it {text}"
    )
