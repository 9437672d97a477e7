"""Selectors of named resources (v1alpha2): what kube-apiserver 1.30 says, and that no expression keeps us busy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deviceselectors.compiler import INTERNAL, compile_expression
from deviceselectors.declarations import variables
from deviceselectors.environment import Environment, environment_of_named_resources
from deviceselectors.error_strategy import printed
from deviceselectors.interface import Compiler
from deviceselectors.libraries import declared, names

NEW, STORED = environment_of_named_resources(stored=False), environment_of_named_resources(stored=True)
DEVICES = Environment()
_DATA = Path(__file__).parent / "data" / "named-resources.json"
_FUNCTIONS = Path(__file__).parent / "data" / "named-resources-functions.json"
CASES: list[dict[str, Any]] = json.loads(_DATA.read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["expr"] for case in CASES])
def test_answers_are_those_of_1_30(case: dict[str, Any]) -> None:
    """Random expressions, good and bad, with the answers of Kubernetes 1.30.14, to the word."""
    compiled = compile_expression(case["expr"], STORED if case.get("env") == "stored" else NEW)
    assert compiled.error == case.get("error")
    assert (compiled.error_type == INTERNAL) == case.get("internal", False)


def test_variables_are_maps_by_type() -> None:
    """There is a variable for each type of attributes, and no device."""
    assert {name: t.text for name, t in variables(NEW).items()} == {
        "attributes.quantity": "map(string, kubernetes.Quantity)",
        "attributes.bool": "map(string, bool)",
        "attributes.int": "map(string, int)",
        "attributes.intslice": "map(string, list(int))",
        "attributes.string": "map(string, string)",
        "attributes.stringslice": "map(string, list(string))",
        "attributes.version": "map(string, kubernetes.Semver)",
    }


def test_rows_say_which_release_knows_a_function() -> None:
    """What is new since 1.29 is unknown to new selectors; IP addresses and networks, of 1.30, to them only."""
    unknown = {name for name in names() if declared(name, NEW) is None}
    assert {name for name in unknown if declared(name, STORED) is not None} == {
        *("cidr", "containsCIDR", "containsIP", "family", "ip", "ip.isCanonical", "isCIDR", "isGlobalUnicast", "isIP"),
        *("isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback", "isUnspecified", "masked", "prefixLength"),
    }  # fmt: skip
    assert {"first", "flatten", "lists.range", "sort", "validate", "includes"} <= unknown
    assert [overload.id for overload in declared("semver", NEW) or ()] == ["string_to_semver"]
    assert [overload.id for overload in declared("duration", DEVICES) or ()] == [
        "duration_to_duration",
        "string_to_duration",
    ]


def test_functions_of_1_30_stay_those_that_they_are() -> None:
    """No row that is added for a later release becomes known to selectors of 1.30; the names are those that its server knows."""
    overloads = {
        name: [each.id for each in declared(name, STORED) or declared(name, NEW) or ()] for name in names()
    }
    assert {name: ids for name, ids in overloads.items() if ids} == json.loads(_FUNCTIONS.read_text())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100", "100"),
        ("%%", "%"),
        ("a %' b", "a %!'(MISSING) b"),
        ("50%", "50%!(NOVERB)"),
        ("%-08.3f|", "%!f(MISSING)|"),
        ("%*d", "%!(BADWIDTH)%!d(MISSING)"),
        ("%.*d", "%!(BADPREC)%!d(MISSING)"),
        ("%[1]d", "%!d(BADINDEX)"),
        ("%[x]d", "%!d(BADINDEX)"),
        ("%[", "%!(NOVERB)"),
        ("%99999999999d", "%!(NOVERB)"),
        ("%é", "%!é(MISSING)"),
    ],
)
def test_messages_are_printed_as_formats(text: str, expected: str) -> None:
    """What stands behind a percent sign misses its argument, as in Go (measured with Go 1.26)."""
    assert printed(text) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 99_000,
        "!" * 99_000 + "true",
        "1+" * 20_000 + "1 == 1",
        "x||" * 30_000 + "x",
        "% " * 40_000,
        "[" + "1," * 40_000 + "1] == [1]",
        "optional.none()" + ".optMap(x, x)" * 5_000,
        "[1]" + ".map(x, [{x: x}])" * 30 + " == 1",
        '"a".matches("' + "(a*)*" * 15_000 + '")',
        "a" * 100_001,
    ],
    ids=lambda expression: f"{expression[:12]}…",
)
def test_long_expressions_get_an_answer(expression: str) -> None:
    """There is no limit of length but that of the compiler, 100,000 characters; each is refused or taken, and no error is long."""
    compiled = compile_expression(expression, NEW)
    assert len(compiled.error or "") < 3_000_000


@pytest.mark.parametrize(
    ("expression", "is_good"),
    [
        ('"%d %s".format([1, "a"]) == ""', True),
        ('"%s".format([{"a": [1, "b"]}]) == ""', True),
        ('"%s".format([[1, "a"][0]]) == ""', False),
        ('"%s".format([string([1, "a"].size())]) == ""', False),
    ],
)
def test_mixed_literals_stand_directly_in_arguments_of_format(expression: str, is_good: bool) -> None:
    """Literals around them may be mixed as well, calls around them end that; later releases take all of these."""
    assert (compile_expression(expression, NEW).error is None) == is_good
    assert compile_expression(expression.replace("%d", "%s"), DEVICES).error is None


def test_verdicts_are_field_errors() -> None:
    """An expression that fails when a program is made of it is an internal error, others are invalid values."""
    compiler = Compiler()
    path = ("selector",)
    error = compiler.check_named('int("x") == 1', path, stored=False)
    assert (
        str(error)
        == "selector: Internal error: program instantiation failed: type conversion error from 'string' to 'int'"
    )
    assert (
        str(compiler.check_named("1", path, stored=False))
        == 'selector: Invalid value: "1": must evaluate to bool'
    )
    assert compiler.check_named("true", path, stored=False) is None
    assert compiler.check_named("isIP('::1')", path, stored=True) is None
    assert compiler.check_named("isIP('::1')", path, stored=False) is not None
