"""What parameters ask for, and the bounds of that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from classic.migration import expressions, objects
from classic.migration.mapping import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    Parameters,
    ParametersRule,
    built_in,
    read_parameters,
)
from classic.migration.migration import Migration
from classic.migration.remarks import CannotMigrate
from deviceselectors.ast import Node
from deviceselectors.unparsing import unparse
from documents import Document, parse

ALWAYS = 'device.attributes["gpu.nvidia.com"].type == "gpu"'
CLASSIC = {"apiVersion": "resource.k8s.io/v1alpha2"}
MEMORY = {"memory": {"value": "1Gi", "operator": "Equals"}}


def _read(spec: Any) -> Parameters:
    rule = built_in().rule_for("gpu.resource.nvidia.com", "GpuClaimParameters")
    assert rule is not None
    return read_parameters({"spec": spec}, rule)


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = MEMORY
    for _ in range(depth):
        value = {"andExpression": [value]}
    return value


def test_conditions_in_each_other() -> None:
    """As deep as they may be, and one more."""
    assert len(_read({"selector": _nested(MAX_DEPTH)}).selectors) == 2
    with pytest.raises(CannotMigrate, match="more conditions than a selector can have"):
        _read({"selector": _nested(MAX_DEPTH + 1)})


def test_many_conditions() -> None:
    """Long before there are too many, an expression is too long; what is no condition counts as well."""
    several = {"orExpression": [MEMORY] * 50}
    assert len(_read({"selector": several}).selectors) == 2
    with pytest.raises(CannotMigrate, match="longer than 10,240 bytes"):
        _read({"selector": {"orExpression": [MEMORY] * (MAX_CONDITIONS - 10)}})
    with pytest.raises(CannotMigrate, match="more conditions than a selector can have"):
        _read({"selector": {"orExpression": [{}] * MAX_CONDITIONS}})


def test_a_condition_that_is_lost() -> None:
    """It does not narrow the choice: of several, the others must still hold; where any would do, none is left."""
    index = {"index": 0}
    assert len(_read({"selector": {"andExpression": [MEMORY, index]}}).selectors) == 2
    parameters = _read({"selector": {"orExpression": [MEMORY, index]}})
    assert parameters.selectors == [ALWAYS]
    assert [path for path, _ in parameters.lost] == [("spec", "selector", "orExpression", 1, "index")]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"count": 0}, "expected a number of devices"),
        ({"count": "2"}, "expected a number of devices"),
        ({"count": True}, "expected a number of devices"),
        ({"count": 2**31}, "expected a number of devices"),
        ({"selector": []}, "expected a mapping"),
        ({"selector": {"andExpression": {}}}, "expected a list of conditions"),
        ({"selector": {"memory": "1Gi"}}, "expected a value and an operator"),
        (
            {"selector": {"memory": {"value": "1Gi", "operator": "Near"}}},
            "expected one of the operators Equals",
        ),
        ({"selector": {"productName": 7}}, "expected a string"),
        ({"selector": {"uuid": ["x"]}}, "expected a string, a number or a boolean"),
    ],
)
def test_what_is_not_as_the_mapping_expects(spec: Any, message: str) -> None:
    """The claim is not migrated: it would ask for something else."""
    with pytest.raises(CannotMigrate, match=message):
        _read(spec)


def test_largest_count() -> None:
    """One below the limit of the field."""
    assert _read({"count": 2**31 - 1}).devices == 2**31 - 1


def test_fields_that_nothing_is_said_about() -> None:
    """They are reported, each by itself, also beside others of the same mapping."""
    parameters = _read({"count": 1, "sharing": {"strategy": "MPS", "x": 1}, "y": {"z": 2}, "empty": {}})
    assert [path for path, _ in parameters.lost] == [("spec", "sharing", "x"), ("spec", "y")]
    assert parameters.config is not None
    assert parameters.config["sharing"] == {"strategy": "MPS"}


def test_suffix_and_values_that_need_no_equivalent() -> None:
    """A number of MiB becomes a quantity; a value that is the default now is not lost."""
    rule = ParametersRule(
        {
            "kind": "X",
            "selectors": [{"field": "memory", "suffix": "Mi", "expression": "quantity(value).isInteger()"}],
            "ignored": {"shared": [False], "only": ["a"]},
            "lost": {"shared": "why"},
        }
    )
    parameters = read_parameters({"memory": 512, "shared": False, "only": "a"}, rule)
    assert parameters == (0, ['quantity("512Mi").isInteger()'], None, [], [])
    lost = read_parameters({"shared": True, "only": "b"}, rule).lost
    assert lost == [(("shared",), "why"), (("only",), "the mapping does not say what it becomes")]


LONG = "a" * 10_241


@pytest.mark.parametrize(
    "selector",
    [
        {"field": "v", "expression": "value == 'x'"},
        {"field": "v", "expression": "'x'.matches(value)", "glob": True},
        {"field": "v", "expression": "value == 'x'", "suffix": "Mi"},
    ],
)
def test_a_long_value(selector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused before anything is made of it."""
    monkeypatch.setattr(expressions, "unparse", None)
    monkeypatch.setattr(expressions, "_quoted", None)
    rule = ParametersRule({"kind": "P", "selectors": [selector]})
    with pytest.raises(CannotMigrate, match="longer than 10,240 bytes"):
        read_parameters({"v": LONG}, rule)


def test_a_value_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it takes together is counted before the selector's text is put together."""
    monkeypatch.setattr(expressions, "unparse", None)
    rule = ParametersRule(
        {"kind": "P", "selectors": [{"field": "v", "expression": "value == 'x' || " * 600 + "value == 'x'"}]}
    )
    with pytest.raises(CannotMigrate, match="longer than 10,240 bytes"):
        read_parameters({"v": LONG[:1000]}, rule)


def test_many_long_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The conditions are counted as they are joined: no text of all of them is made."""
    written = []

    def recording(tree: Node) -> str:
        written.append(tree)
        return unparse(tree)

    several = {"orExpression": [{"productName": LONG[:9000]}] * (MAX_CONDITIONS - 2)}
    rule = built_in().rule_for("gpu.resource.nvidia.com", "GpuClaimParameters")
    assert rule is not None
    monkeypatch.setattr(expressions, "unparse", recording)
    with pytest.raises(CannotMigrate, match="longer than 10,240 bytes"):
        read_parameters({"spec": {"selector": several}}, rule)
    assert len(written) <= 3


def test_parameters_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many claims refer to them, and whatever is wrong with them; what is lost with them is held once."""
    read: list[str] = []

    def noted(value: dict[str, Any], rule: ParametersRule) -> Parameters:
        read.append(value["metadata"]["name"])
        return read_parameters(value, rule)

    monkeypatch.setattr(objects, "read_parameters", noted)
    api_version = "gpu.resource.nvidia.com/v1alpha1"
    kind = {"apiVersion": api_version, "kind": "GpuClaimParameters"}
    values: list[dict[str, Any]] = [
        {**kind, "metadata": {"name": "good"}, "spec": {"selector": {"andExpression": [{"index": 0}] * 9}}},
        {**kind, "metadata": {"name": "bad"}, "spec": {"count": "many"}},
        {**CLASSIC, "kind": "ResourceClass", "metadata": {"name": "gpu"}, "driverName": "gpu.nvidia.com"},
    ]
    for number in range(10):
        reference = {"kind": kind["kind"], "apiGroup": "gpu.resource.nvidia.com", "name": "good"}
        if number % 2:
            reference["name"] = "bad"
        spec = {"resourceClassName": "gpu", "parametersRef": reference}
        values.append(
            {**CLASSIC, "kind": "ResourceClaim", "metadata": {"name": f"claim-{number}"}, "spec": spec}
        )
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": values})
    documents = [each for each in parse(text) if isinstance(each, Document)]
    assert len(documents) == len(values)
    migration = Migration(documents, built_in(), "default")
    assert sorted(read) == ["bad", "good"]
    said = [each.text for each in migration.remarks]
    assert sum("index" in text for text in said) == 9
    assert sum("expected a number of devices" in text for text in said) == 5
