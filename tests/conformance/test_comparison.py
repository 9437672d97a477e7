"""Two answers count as the same exactly when the corpus's rules say so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.answers import (
    expectation,
    name_prefix,
    pod_extract,
    unordered,
    with_name_marked,
    without_storage_fields,
)
from tests.conformance.comparison import compare

A = {"field": "spec.a", "reason": "FieldValueRequired", "message": "Required value"}
B = {"field": "spec.b", "reason": "FieldValueRequired", "message": "Required value"}
REFUSED = {"code": 422, "reason": "Invalid", "message": "[a, b]", "causes": [A, B]}
OBJECT = {"kind": "DeviceClass", "metadata": {"name": "x"}, "spec": {}}


@pytest.mark.parametrize(
    ("expected", "answered", "verdict", "answer"),
    [
        pytest.param(REFUSED, REFUSED, True, True, id="identical"),
        pytest.param(REFUSED, {**REFUSED, "code": 400}, False, False, id="other-code"),
        pytest.param(REFUSED, {**REFUSED, "message": "[b, a]"}, True, False, id="other-message"),
        pytest.param(REFUSED, {**REFUSED, "causes": [B, A]}, True, False, id="other-order"),
        pytest.param(
            {**REFUSED, "unordered": True},
            {**REFUSED, "causes": [B, A], "message": "[b, a]"},
            True,
            True,
            id="any-order-where-unordered",
        ),
        pytest.param(
            {**REFUSED, "unordered": True},
            {**REFUSED, "causes": [A, A]},
            True,
            False,
            id="unordered-is-a-multiset",
        ),
        pytest.param(
            {"code": 201, "unchanged": True},
            {"code": 201, "object": OBJECT},
            True,
            True,
            id="unchanged-is-the-request",
        ),
        pytest.param(
            {"code": 201, "unchanged": True},
            {"code": 201, "object": {}},
            True,
            False,
            id="unchanged-but-another",
        ),
        pytest.param(
            {"code": 201, "object": {"n": 1}},
            {"code": 201, "object": {"n": True}},
            True,
            False,
            id="one-is-not-true",
        ),
        pytest.param(
            {"code": 201, "unchanged": True, "warnings": ["w"]},
            {"code": 201, "unchanged": True},
            True,
            False,
            id="missing-warning",
        ),
        pytest.param(
            {"code": 201, "unchanged": True, "converted": {"v1": OBJECT}},
            {"code": 201, "unchanged": True},
            True,
            False,
            id="missing-conversion",
        ),
    ],
)
def test_same(expected: dict[str, Any], answered: dict[str, Any], verdict: bool, answer: bool) -> None:
    """Verdict is the HTTP code alone; the answer is all of it, order and wording as far as they are determined."""
    result = compare({"object": OBJECT, "expect": expected}, answered)
    assert (result.verdict, result.answer) == (verdict, answer)
    assert bool(result.differences) is not answer


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            ["spec.devices[0].attributes[a]", "spec.devices[0].attributes[b].int"], True, id="one-map"
        ),
        pytest.param(
            ["spec.devices[0].attributes[a]", "spec.devices[1].attributes[b]"], False, id="two-maps"
        ),
        pytest.param(["metadata.labels", "metadata.labels"], True, id="errors-at-the-map-itself"),
        pytest.param(
            ["spec.devices.requests[0]", "spec.devices.requests[1]"], False, id="a-list-called-requests"
        ),
        pytest.param(
            ["spec.containers[0].resources.requests[9x]", "spec.containers[0].resources.requests[9x]"],
            True,
            id="a-map-called-requests",
        ),
        pytest.param(
            ["spec.devices.requests[0].exactly.capacity.requests[a]"] * 2, True, id="requests-for-capacity"
        ),
        pytest.param(["spec.nodeSelector.nodeSelectorTerms[0]"] * 2, False, id="node-selector-of-a-slice"),
    ],
)
def test_unordered(fields: list[str], expected: bool) -> None:
    """Errors about entries of one Go map come in any order; all others have their place."""
    assert unordered({"field": field, "message": "Required value"} for field in fields) is expected


def test_unordered_gates() -> None:
    """The gates that an update adds to a pod come in any order, those of a new pod in theirs."""
    fields = [f"spec.schedulingGates[{index}].name" for index in range(2)]
    added = "Forbidden: only deletion is allowed, but found new scheduling gate 'example.com/a'"
    for message, expected in ((added, True), ('Duplicate value: "example.com/a"', False)):
        assert unordered({"field": field, "message": message} for field in fields) is expected


def test_storage_fields_are_left_out() -> None:
    """What the server sets on storing is not compared, the creation time inside a template included."""
    stored = {
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": "t",
            "uid": "u",
            "resourceVersion": "1",
            "creationTimestamp": "c",
            "labels": {"a": "b"},
        },
        "spec": {"metadata": {"creationTimestamp": None}, "spec": {}},
    }
    assert without_storage_fields(stored) == {
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "labels": {"a": "b"}},
        "spec": {"metadata": {}, "spec": {}},
    }


def test_pods_are_cut_down() -> None:
    """Of a Pod only its claims and resources are compared."""
    pod = {
        "metadata": {"name": "p", "namespace": "n", "uid": "u"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "a"}]}}],
            "resourceClaims": [{"name": "a", "resourceClaimName": "x"}],
            "restartPolicy": "Always",
        },
    }
    assert pod_extract(pod) == {
        "metadata": {"name": "p", "namespace": "n"},
        "spec": {
            "containers": [{"name": "c", "resources": {"claims": [{"name": "a"}]}}],
            "resourceClaims": [{"name": "a", "resourceClaimName": "x"}],
        },
    }


def test_answers_have_the_form_of_expect() -> None:
    """A refusal is split into reason, message, causes and the rest of its details; an unchanged object is named so."""
    case = {"object": OBJECT}
    status = {"reason": "Invalid", "message": "m", "details": {"name": "x", "causes": [A]}}
    assert expectation(422, case=case, status=status, warnings=["w"]) == {
        "code": 422,
        "reason": "Invalid",
        "message": "m",
        "causes": [A],
        "details": {"name": "x"},
        "warnings": ["w"],
    }
    assert expectation(201, case=case, object=OBJECT) == {"code": 201, "unchanged": True}


def test_generated_names_are_marked() -> None:
    """A name that the server has made is not compared, wherever it stands; what it was made from is."""
    case = {"verb": "create", "object": {"metadata": {"generateName": 'a"'}}}
    assert name_prefix(case) == 'a"'
    assert name_prefix({**case, "verb": "update"}) == ""
    assert name_prefix({**case, "object": {"metadata": {"name": "x", "generateName": "a"}}}) == ""
    assert name_prefix({**case, "object": None, "raw": '{"metadata": {"generateName": "b"}}'}) == "b"
    answer = {
        "message": r'DeviceClass "a\"xyz12" is invalid',
        "metadata": {"name": 'a"xyz12', "generateName": 'a"'},
    }
    assert with_name_marked(answer, 'a"xyz12') == {
        "message": 'DeviceClass "<generated>" is invalid',
        "metadata": {"name": "<generated>", "generateName": 'a"'},
    }


def test_marked_names_are_whole_words() -> None:
    """What looks like the made name within a longer word is left: a prefix of one letter that is too long."""
    text = f'"{"x" * 63}" is invalid: metadata.generateName: Invalid value: "{"x" * 300}"'
    marked = f'"<generated>" is invalid: metadata.generateName: Invalid value: "{"x" * 300}"'
    assert with_name_marked(text, "x" * 63) == marked
    assert (
        with_name_marked(r'Invalid value: "\x7fab12c": no', "\x7fab12c") == 'Invalid value: "<generated>": no'
    )


@pytest.mark.parametrize(
    ("answered", "same"),
    [
        ("a: " + "x" * 32_000 + "…, b", True),
        ("a: " + "x" * 40_000 + ", b", True),
        ("a: " + "x" * 32_000 + "…, c", False),
        ("a: " + "y" * 32_000 + "…, b", False),
        ("a: " + "x" * 32_000 + ", b", False),
    ],
    ids=["cut", "whole", "other-end", "other-text", "shorter"],
)
def test_long_texts_may_be_cut(answered: str, same: bool) -> None:
    case = {"expect": {"code": 422, "message": "a: " + "x" * 40_000 + ", b"}}
    assert compare(case, {"code": 422, "message": answered}).answer is same
