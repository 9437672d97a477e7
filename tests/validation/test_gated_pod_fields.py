"""Fields of pods that servers drop where their feature gate is off, as real servers with default gates do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from resourceapi.gates import known
from resourceapi.measured import MEASURED
from resourceapi.model import workloads
from resourceapi.releases import Profile
from resourceapi.schema import Schema
from tests.case_files import read_yaml
from validation.requests import Request
from validation.server import Server

CASES = read_yaml(Path(__file__).parent / "data" / "gated_pod_fields.yaml")
ASKED = [
    pytest.param(case, release, is_kept, id=f"{case['field']}-{release}")
    for case in CASES
    for is_kept in (True, False)
    for release in case["kept" if is_kept else "dropped"]
]


def _pod(case: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": case["spec"]}


def _value_in(pod: Any, case: dict[str, Any]) -> Any:
    value = pod["spec"]
    for part in case["field"].split("."):
        value = value[int(part)] if isinstance(value, list) else (value or {}).get(part)
    return value


@pytest.mark.parametrize(("case", "release", "is_kept"), ASKED)
def test_created(case: dict[str, Any], release: str, *, is_kept: bool) -> None:
    """A new pod has the field only if the server keeps it."""
    answer = Server(Profile(release)).handle(Request("v1", "Pod", "default", body=_pod(case)))
    assert (_value_in(answer.object, case) is not None) is is_kept


def _gates_below(struct: str, schema: Schema, seen: set[str]) -> set[str]:
    seen.add(struct)
    fields = schema[struct].fields
    below = {field.type.struct_within for field in fields} - seen
    found = {gate for field in fields for gate in field.gates}
    return found.union(*(_gates_below(each, schema, seen) for each in below if each))


@pytest.mark.parametrize("minor", MEASURED)
def test_gates_are_those_of_the_release(minor: int) -> None:
    """Each field with a gate is in a release that knows the gate, or it would be dropped for ever."""
    gates = _gates_below("Pod", workloads.schema(minor), set())
    assert gates
    assert gates <= known(minor)
