"""Which nodes a node selector selects."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi.node_selection import selects
from resourceapi.records.nodes import Node, read_node

NODE = Node("node-a", {"zone": "b", "gpus": "8", "empty": "", "word": "x"})


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def by_label(*requirements: dict[str, Any]) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchExpressions": list(requirements)}]}


def by_field(*requirements: dict[str, Any]) -> dict[str, Any]:
    return {"nodeSelectorTerms": [{"matchFields": list(requirements)}]}


@pytest.mark.parametrize(
    ("term", "selected"),
    [
        pytest.param(requirement("zone", "In", "a", "b"), True, id="in"),
        pytest.param(requirement("zone", "In", "a"), False, id="in-others"),
        pytest.param(requirement("rack", "In", "a"), False, id="in-without-label"),
        pytest.param(requirement("zone", "NotIn", "a"), True, id="not-in"),
        pytest.param(requirement("zone", "NotIn", "b"), False, id="not-in-but-is"),
        pytest.param(requirement("rack", "NotIn", "a"), True, id="not-in-without-label"),
        pytest.param(requirement("empty", "Exists"), True, id="exists-though-empty"),
        pytest.param(requirement("rack", "Exists"), False, id="exists-not"),
        pytest.param(requirement("rack", "DoesNotExist"), True, id="does-not-exist"),
        pytest.param(requirement("empty", "DoesNotExist"), False, id="does-not-exist-but-does"),
        pytest.param(requirement("gpus", "Gt", "7"), True, id="greater"),
        pytest.param(requirement("gpus", "Gt", "8"), False, id="not-greater"),
        pytest.param(requirement("gpus", "Lt", "9"), True, id="less"),
        pytest.param(requirement("gpus", "Lt", "8"), False, id="not-less"),
        pytest.param(requirement("gpus", "Gt", "-1"), True, id="greater-than-negative"),
        pytest.param(requirement("gpus", "Gt", "+007"), True, id="greater-with-sign-and-zeros"),
        pytest.param(requirement("gpus", "Gt", "1_0"), False, id="underscore-is-no-number"),
        pytest.param(requirement("gpus", "Gt", " 1"), False, id="space-is-no-number"),
        pytest.param(requirement("gpus", "Gt", "\u0661"), False, id="other-digits-are-no-number"),
        pytest.param(requirement("gpus", "Gt", ""), False, id="nothing-is-no-number"),
        pytest.param(requirement("gpus", "Lt", str(2**63 - 1)), True, id="largest-number"),
        pytest.param(requirement("gpus", "Lt", str(2**63)), False, id="number-too-large"),
        pytest.param(requirement("gpus", "Gt", "-" + "9" * 5000), False, id="number-far-too-large"),
        pytest.param(requirement("word", "Gt", "1"), False, id="label-is-no-number"),
        pytest.param(requirement("rack", "Gt", "1"), False, id="greater-without-label"),
        pytest.param(requirement("gpus", "Gt"), False, id="greater-than-nothing"),
        pytest.param(requirement("gpus", "Lt", "9", "10"), False, id="less-than-two"),
        pytest.param(requirement("gpus", "Eq", "8"), False, id="unknown-operator"),
        pytest.param({"key": "gpus", "values": ["8"]}, False, id="no-operator"),
        pytest.param({"operator": "Exists"}, False, id="no-key"),
    ],
)
def test_labels(term: dict[str, Any], selected: bool) -> None:
    assert selects(by_label(term), NODE) is selected


@pytest.mark.parametrize(
    ("term", "selected"),
    [
        pytest.param(requirement("metadata.name", "In", "node-a"), True, id="in"),
        pytest.param(requirement("metadata.name", "In", "node-b"), False, id="in-others"),
        pytest.param(requirement("metadata.name", "NotIn", "node-b"), True, id="not-in"),
        pytest.param(requirement("metadata.uid", "In", "node-a"), False, id="other-field"),
    ],
)
def test_fields(term: dict[str, Any], selected: bool) -> None:
    assert selects(by_field(term), NODE) is selected


def test_all_requirements_of_a_term_count() -> None:
    """A term selects if all its requirements do, those on labels and those on fields."""
    good, bad = requirement("zone", "Exists"), requirement("rack", "Exists")
    name = requirement("metadata.name", "In", "node-a")
    other = requirement("metadata.name", "In", "node-b")
    assert selects(by_label(good, good), NODE)
    assert not selects(by_label(good, bad), NODE)
    assert selects({"nodeSelectorTerms": [{"matchExpressions": [good], "matchFields": [name]}]}, NODE)
    assert not selects({"nodeSelectorTerms": [{"matchExpressions": [good], "matchFields": [other]}]}, NODE)
    assert not selects({"nodeSelectorTerms": [{"matchExpressions": [bad], "matchFields": [name]}]}, NODE)


def test_one_term_is_enough() -> None:
    """Of several terms one must select."""
    terms = by_label(requirement("rack", "Exists"))["nodeSelectorTerms"]
    assert selects(
        {"nodeSelectorTerms": [*terms, *by_label(requirement("zone", "Exists"))["nodeSelectorTerms"]]}, NODE
    )


@pytest.mark.parametrize(
    "selector", [{}, {"nodeSelectorTerms": None}, {"nodeSelectorTerms": []}, {"nodeSelectorTerms": [{}]}]
)
def test_nothing_selects_nothing(selector: dict[str, Any]) -> None:
    """No term, or a term without requirements, selects no node."""
    assert not selects(selector, NODE)


@pytest.mark.parametrize("metadata", [{}, {"labels": {}}, {"labels": None}])
def test_nodes_without_labels(metadata: dict[str, Any]) -> None:
    node = read_node({"metadata": {"name": "n", **metadata}})
    assert node is not None
    assert selects(by_label(requirement("zone", "DoesNotExist")), node)
    assert not selects(by_label(requirement("zone", "Exists")), node)


@given(st.integers(-(2**65), 2**65), st.integers(-(2**65), 2**65))
def test_numbers_are_compared_as_numbers(label: int, bound: int) -> None:
    """`Gt` and `Lt` order numbers of 64 bits; larger ones satisfy neither."""
    node = Node("", {"n": str(label)})
    fit = all(-(2**63) <= number < 2**63 for number in (label, bound))
    assert selects(by_label(requirement("n", "Gt", str(bound))), node) is (fit and label > bound)
    assert selects(by_label(requirement("n", "Lt", str(bound))), node) is (fit and label < bound)
