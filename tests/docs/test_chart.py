"""The chart's templates are what the kustomizations make them; e2e tests render them with helm."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import pytest
import yaml

from commandline.manifests.options import CERTIFICATES, FAILURE_POLICIES, MODES
from docs.tools.chart import CASES, DIRECTORY, INSTALLED, Case, files
from docs.tools.chart import _condition as condition

FILES = files()


def test_templates_are_up_to_date() -> None:
    """`make docs` writes them anew."""
    committed = {path: path.read_text() for path in (DIRECTORY / "templates").glob("*.yaml")}
    assert committed | {DIRECTORY / "Chart.yaml": (DIRECTORY / "Chart.yaml").read_text()} == FILES


def test_the_schema_knows_the_values_and_the_options() -> None:
    """Helm refuses values that are not in the schema, so all defaults must be there."""
    properties = json.loads((DIRECTORY / "values.schema.json").read_text())["properties"]
    defaults = yaml.safe_load((DIRECTORY / "values.yaml").read_text())
    assert defaults.keys() == properties.keys() - {"global"}
    assert defaults["image"].keys() == properties["image"]["properties"].keys()
    assert properties["component"]["enum"] == list(INSTALLED)
    assert properties["mode"]["enum"] == list(MODES)
    assert properties["certificates"]["enum"] == list(CERTIFICATES)
    used = {
        policy
        for text in FILES.values()
        for policy in properties["failurePolicies"]["properties"]
        if f".Values.failurePolicies.{policy} " in text
    }
    assert used == properties["failurePolicies"]["properties"].keys()
    for policy in properties["failurePolicies"]["properties"].values():
        assert policy["enum"] == list(FAILURE_POLICIES)


def test_no_stand_in_is_left() -> None:
    for path, text in FILES.items():
        assert "chart-" not in text.replace("chart-level", ""), path
        assert "987654321" not in text, path


@pytest.mark.parametrize("size", [1, 2])
def test_a_condition_can_be_found_or_is_an_error(size: int) -> None:
    """For one case and for two: an expression that holds for these and no other, or an error."""
    seen = 0
    for wanted in combinations(CASES, size):
        try:
            expression = condition(wanted, CASES)
        except ValueError:
            continue
        seen += 1
        assert [case for case in CASES if _evaluated(expression, case)] == list(wanted), expression
    assert seen


def _evaluated(expression: str, case: Case) -> bool:
    """What Helm makes of an expression."""
    words = iter(re.findall(r'[()]|"[^"]*"|[^\s()]+', f"({expression})"))
    assert next(words) == "("
    found = bool(_call(words, case))
    assert not list(words)
    return found


def _call(words: Iterator[str], case: Case) -> Any:
    """The value of a function with its operands, or of one operand, up to the parenthesis that closes it."""
    values: list[Any] = []
    for word in words:
        if word == ")":
            break
        name = word.removeprefix(".Values.")
        if word == "(":
            values.append(_call(words, case))
        elif word.startswith('"'):
            values.append(json.loads(word))
        elif name != word:
            values.append(case.has_client_authority if name == "clientAuthority" else getattr(case, name))
        else:
            values.append(_FUNCTIONS[word])
    return values[0](*values[1:]) if callable(values[0]) else values[0]


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "and": lambda *operands: all(operands),
    "or": lambda *operands: any(operands),
    "not": lambda operand: not operand,
    "eq": operator.eq,
    "ne": operator.ne,
    "list": lambda *items: items,
    "has": lambda item, items: item in items,
}
