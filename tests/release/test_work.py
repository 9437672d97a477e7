"""The list of work: what servers say of themselves is all written down, and what a further one says otherwise is all listed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from resourceapi.measured import MODERN_MINORS
from tests.conformance.answers import Case
from tests.conformance.comparison import compare
from tests.release import data
from tests.release.__main__ import nearest
from tests.release.work import (
    FIELD,
    GATE,
    KIND,
    MESSAGE,
    OBJECT,
    SERVED,
    VERDICT,
    WARNING,
    Task,
    of_answers,
    of_record,
    printed,
    unknown_gates,
)
from tests.resourceapi.tables import recorded_releases

RECORDED = recorded_releases()
A = {"field": "spec.list[3].a", "reason": "FieldValueInvalid", "message": 'Invalid value: "x": no a: 1'}
B = {"field": "spec.b", "reason": "FieldValueRequired", "message": "Required value"}


@pytest.mark.parametrize("minor", MODERN_MINORS)
def test_nothing_is_left_to_do(minor: int) -> None:
    """Served versions, gates, kinds and fields are as the server of the release says, by its metrics, discovery and OpenAPI documents."""
    release = f"1.{minor}"
    assert list(of_record(minor, minor, RECORDED[release], data.fields(release))) == []


def test_lists_what_a_record_has_otherwise() -> None:
    """A next release with a change of each kind; all are listed, each with what to write."""
    record = copy.deepcopy(RECORDED["1.36"])
    record["servedWithAll"]["v1"].append("DeviceTaintRule")
    record["servedWithAll"]["v1beta1"].remove("DeviceClass")
    record["gates"] |= {"DRAListTypeAttributes": "BETA on"}
    del record["gates"]["DRANodeAllocatableResources"]
    record["dependsOn"]["DRADeviceTaintRules"] = ["DRADeviceTaints", "DRAListTypeAttributes"]
    record["kinds"]["apps/v1"] = "DaemonSet Deployment ReplicaSet StatefulSet"
    fields = copy.deepcopy(data.fields("1.36"))
    fields["v1"]["Device"]["color"] = "[]string set"
    del fields["v1"]["Device"]["bindsToNode"]
    fields["v1"]["DeviceTaint"]["effect"] = "string enum(NoExecute)"
    del fields["v1"]["Counter"]
    assert list(of_record(37, 36, record, fields)) == [
        Task(SERVED, "DeviceClass in v1beta1: the server has it no more"),
        Task(SERVED, "DeviceTaintRule in v1: the server has it"),
        Task(GATE, "DRAListTypeAttributes: BETA on, which was ALPHA off: Stage(37, …)"),
        Task(GATE, "DRANodeAllocatableResources: not there, which was ALPHA off: Stage(37, …)"),
        Task(
            GATE,
            "DRADeviceTaintRules depends on DRADeviceTaints, DRAListTypeAttributes; here on DRADeviceTaints",
        ),
        Task(KIND, "ControllerRevision in apps/v1: the server has it no more"),
        Task(FIELD, "Counter in v1: the server has it no more"),
        Task(FIELD, "Device in v1: bindsToNode is gone"),
        Task(FIELD, "Device in v1: color is new: []string set"),
        Task(
            FIELD,
            "DeviceTaint in v1: effect is string enum(NoExecute); here string enum(NoExecute, NoSchedule, None)",
        ),
    ]


def test_lists_new_gates() -> None:
    """Those whose names say that they are about DRA; others have no say until an answer shows it."""
    others = ["DRASomething", "DRAKnown", "Unrelated"]
    assert [task.what for task in unknown_gates(others, ["DRAKnown"])] == [
        "DRASomething is new: does it have a say about DRA objects? Then it needs a row"
    ]


def _case(id: str, expect: dict[str, Any]) -> Case:
    return {
        "id": id,
        "verb": "create",
        "kind": "DeviceClass",
        "object": {"spec": {"a": 1}},
        "expect": expect,
    }


def _refused(*causes: dict[str, str], **more: Any) -> dict[str, Any]:
    message = " ".join(cause["message"] for cause in causes)
    return {"code": 422, "reason": "Invalid", "message": message, "causes": list(causes), **more}


ANSWERS = {
    "says-more": (_refused(A, B), _refused(B), [(MESSAGE, "the server says: DeviceClass spec.list[*].a: Invalid value: …: no a: 1")]),
    "says-less": (_refused(B), _refused(B, A), [(MESSAGE, "only we say: DeviceClass spec.list[*].a: Invalid value: …: no a: 1")]),
    "says-again": (_refused(B, B), _refused(B), [(MESSAGE, "the server says (again): DeviceClass spec.b: Required value")]),
    "other-order": (_refused(B, A), _refused(A, B), [(MESSAGE, "DeviceClass: the same errors in another order, or with other values")]),
    "refuses": (_refused(B), {"code": 201, "unchanged": True}, [(MESSAGE, "the server says: DeviceClass spec.b: Required value")]),
    "decodes-not": (
        {"code": 400, "reason": "BadRequest", "message": 'strict decoding error: unknown field "spec.x[0]"'},
        {"code": 201, "unchanged": True},
        [(MESSAGE, "the server says: strict decoding error: unknown field …")],
    ),
    "warns": (
        {"code": 201, "unchanged": True, "warnings": ["old"]},
        {"code": 201, "unchanged": True},
        [(WARNING, "the server says: old")],
    ),
    "returns": (
        {"code": 201, "object": {"spec": {"a": 2, "b": 1, "c": [{"d": 1}]}}},
        {"code": 201, "object": {"spec": {"a": 1, "c": [{}]}}},
        [
            (OBJECT, "DeviceClass spec.a: the server returns another value"),
            (OBJECT, "DeviceClass spec.b: only the server returns it"),
            (OBJECT, "DeviceClass spec.c[*].d: only the server returns it"),
        ],
    ),
    "other-code": ({"code": 500}, {"code": 503}, [(VERDICT, "create DeviceClass: code differ")]),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_says_in_what_answers_differ(name: str) -> None:
    """Without the values and indexes of the case, so that cases with the same cause come together."""
    theirs, ours, wanted = ANSWERS[name]
    case = _case("c", theirs)
    found = of_answers([(case, compare(case, ours))])
    assert [(task.step, task.what) for task in found] == wanted
    assert {(task.cases, task.example) for task in found} == {(1, "c")}


def test_counts_the_cases_of_a_task() -> None:
    """Most cases first, in the order of the recipe's steps; the example is the first case."""
    cases = [_case("w", {"code": 201, "unchanged": True, "warnings": ["old"]})]
    cases += [_case(f"b{n}", _refused(B)) for n in range(3)] + [_case("a", _refused(A))]
    ours = {"code": 201, "unchanged": True}
    found = of_answers([(case, compare(case, ours)) for case in cases])
    assert [(task.step, task.cases, task.example) for task in found] == [
        (MESSAGE, 3, "b0"),
        (MESSAGE, 1, "a"),
        (WARNING, 1, "w"),
    ]
    assert printed(found).splitlines() == [
        "messages (2): rules in resourceapi/model and validation (`checks.minor`), texts in validation/kind_rules.py, functions of CEL (`since=`)",
        "    3 cases: the server says: DeviceClass spec.b: Required value  [b0]",
        "    1 cases: the server says: DeviceClass spec.list[*].a: Invalid value: …: no a: 1  [a]",
        "",
        "warnings (1): `Lifecycle` in resourceapi/kinds.py, `warnings` in validation",
        "    1 cases: the server says: old  [w]",
    ]
    assert printed([]) == "nothing differs"


@pytest.mark.parametrize(
    ("minor", "known", "wanted"),
    [
        pytest.param(38, (36, 37), 37, id="next"),
        pytest.param(36, (35, 36, 37), 36, id="known"),
        pytest.param(36, (34, 35, 37), 37, id="between"),
        pytest.param(31, (32, 33), 32, id="before"),
    ],
)
def test_compares_with_the_nearest_release(minor: int, known: tuple[int, ...], wanted: int) -> None:
    """With itself where it is known, which is then to leave nothing to do."""
    assert nearest(minor, known) == wanted
