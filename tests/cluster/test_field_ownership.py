"""Server-side apply on stored objects (`tests/e2e/test_kubectl.py` asks the real server)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cluster.applying import LAST_APPLIED
from cluster.configuration_as_yaml import ConfigurationRefused
from cluster.field_ownership import FieldConflict, server_side_applied


def _managed(manager: str, fields: Any, operation: str = "Update", **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields, **more}


def _stored(*managed: dict[str, Any], annotations: dict[str, str] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "x", "labels": {"a": "1", "b": "2"}, "managedFields": list(managed)}
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "K",
        "metadata": metadata,
        "spec": {"requests": [{"name": "r", "count": 1}], "driver": "d"},
    }


LABELS: dict[str, Any] = {"f:metadata": {"f:labels": {".": {}, "f:a": {}, "f:b": {}}}}
REQUESTS: dict[str, Any] = {"f:spec": {"f:requests": {}, "f:driver": {}}}


def _conflict(stored: Any, configuration: Any, manager: str = "kubectl") -> str:
    with pytest.raises(FieldConflict) as conflict:
        server_side_applied(stored, configuration, manager, force=False)
    return str(conflict.value)


def test_fields_of_others() -> None:
    """Who has set a field otherwise is named as the server names them."""
    stored = _stored(_managed("ctl", REQUESTS), _managed("a", LABELS, "Apply"))
    one = {"spec": {"requests": [{"name": "r"}]}}
    assert (
        _conflict(stored, one) == 'Apply failed with 1 conflict: conflict with "ctl" using v1: .spec.requests'
    )
    several = {"metadata": {"labels": {"b": "3", "a": "2"}}, "spec": {"requests": [], "driver": "d"}}
    assert _conflict(stored, several) == (
        'Apply failed with 3 conflicts: conflicts with "a":\n- .metadata.labels.a\n- .metadata.labels.b\n'
        'conflicts with "ctl" using v1:\n- .spec.requests'
    )
    forced = server_side_applied(stored, several, "kubectl", force=True)
    assert forced["spec"]["requests"] == []


def test_same_values_are_no_conflict() -> None:
    """A manager may set what others have set, and add what nobody has."""
    stored = _stored(_managed("ctl", REQUESTS))
    result = server_side_applied(stored, {"spec": {"driver": "d", "new": 1}}, "kubectl", force=False)
    assert result["spec"] == {**stored["spec"], "new": 1}


def test_null_is_a_value() -> None:
    """To remove a field of others by null is a conflict as well."""
    stored = _stored(_managed("ctl", REQUESTS))
    assert _conflict(stored, {"spec": {"driver": None}}).endswith(": .spec.driver")
    assert (
        "driver" not in server_side_applied(stored, {"spec": {"driver": None}}, "kubectl", force=True)["spec"]
    )


def test_entries_of_lists() -> None:
    """Entries are told by their keys."""
    fields: Any = {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}}}}}
    stored = {**_stored(_managed("ctl", fields)), "spec": {"containers": [{"name": "a", "image": "1"}]}}
    message = _conflict(stored, {"spec": {"containers": [{"name": "a", "image": "2"}]}})
    assert message.endswith('conflict with "ctl" using v1: .spec.containers[name="a"].image')


def test_fields_that_the_server_did_not_store() -> None:
    """Who has set a list is in the way where the stored object has none of it, as the gate of the field is off."""
    fields: Any = {
        "f:spec": {
            "f:driver": {},
            "f:pool": {"f:name": {}},
            "f:skipNodeOperations": {".": {}, 'v:"NodePrepareResources"': {}},
        }
    }
    configuration = {"spec": {"skipNodeOperations": ["NodePrepareResources"]}}
    message = _conflict(_stored(_managed("ctl", fields)), configuration)
    assert message == (
        'Apply failed with 2 conflicts: conflicts with "ctl" using v1:\n- .spec.skipNodeOperations\n'
        '- .spec.skipNodeOperations[="NodePrepareResources"]'
    )
    stored = _stored(_managed("ctl", fields))
    stored["spec"]["skipNodeOperations"] = ["*"]
    assert _conflict(stored, configuration).endswith(': .spec.skipNodeOperations[="NodePrepareResources"]')


@pytest.mark.parametrize(
    ("spec", "given", "expected"),
    [
        pytest.param(
            {"skipNodeOperations": ["a", "b"]},
            {"skipNodeOperations": ["c", "a"]},
            {"skipNodeOperations": ["a", "b", "c"]},
            id="set",
        ),
        pytest.param(
            {"ports": [{"containerPort": 1, "name": "x"}]},
            {"ports": [{"containerPort": 1, "protocol": "UDP"}, {"containerPort": 1, "protocol": "TCP"}]},
            {
                "ports": [
                    {"containerPort": 1, "name": "x", "protocol": "TCP"},
                    {"containerPort": 1, "protocol": "UDP"},
                ]
            },
            id="two-keys-one-with-a-default",
        ),
        pytest.param(
            {"resources": {"claims": [{"name": "a", "request": "r"}]}},
            {"resources": {"claims": [{"name": "b"}]}},
            {"resources": {"claims": [{"name": "a", "request": "r"}, {"name": "b"}]}},
            id="list-that-kubectl-replaces",
        ),
        pytest.param(
            {"ownerReferences": [{"uid": "1", "controller": True}]},
            {"ownerReferences": [{"uid": "1", "name": "n"}]},
            {"ownerReferences": [{"uid": "1", "name": "n"}]},
            id="entries-that-are-replaced",
        ),
        pytest.param(
            {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "a"}}},
            {"valueFrom": {"fieldRef": {"fieldPath": "b"}}},
            {"valueFrom": {"fieldRef": {"fieldPath": "b"}}},
            id="map-that-is-replaced",
        ),
    ],
)
def test_what_the_server_merges(spec: Any, given: Any, expected: Any) -> None:
    """The server knows more lists and maps than `kubectl apply`, and tells entries by more keys."""
    stored = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": spec}
    assert server_side_applied(stored, {"spec": given}, "kubectl", force=True)["spec"] == expected


def test_entries_that_others_have_too() -> None:
    """An entry of a list stays as long as somebody has it."""
    entry: Any = {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}}
    stored = _stored(_managed("kubectl", entry, "Apply"), _managed("ctl", entry))
    stored["spec"] = {"containers": [{"name": "a"}]}
    result = server_side_applied(stored, {"spec": {}}, "kubectl", force=False)
    assert result["spec"] == {"containers": [{"name": "a"}]}


def test_what_is_given_up() -> None:
    """Fields that only this manager had, and its configuration has no longer, are removed."""
    stored = _stored(
        _managed("kubectl", {**LABELS, **REQUESTS}, "Apply"),
        _managed("ctl", {"f:metadata": {"f:labels": {"f:b": {}}}}),
    )
    result = server_side_applied(stored, {"spec": {"driver": "d"}}, "kubectl", force=False)
    assert result["metadata"]["labels"] == {"b": "2"}
    assert result["spec"] == {"driver": "d"}
    assert stored["metadata"]["labels"] == {"a": "1", "b": "2"}


def test_what_kubectl_applied_itself() -> None:
    """The annotation of client-side apply makes kubectl its own successor, and nobody else."""
    last = json.dumps({"apiVersion": "v1", "metadata": {"labels": {"a": "1"}}})
    stored = _stored(_managed("kubectl-client-side-apply", LABELS), annotations={LAST_APPLIED: last})
    change = {"metadata": {"labels": {"a": "9"}}}
    assert server_side_applied(stored, change, "kubectl", force=False)["metadata"]["labels"]["a"] == "9"
    assert "kubectl-client-side-apply" in _conflict(stored, change, "other")
    assert _conflict(stored, {"metadata": {"labels": {"b": "9"}}}).endswith(".metadata.labels.b")


def test_status_is_not_applied() -> None:
    """It has a URL of its own."""
    stored = {**_stored(_managed("ctl", {"f:status": {"f:a": {}}}, subresource="status")), "status": {"a": 1}}
    assert server_side_applied(stored, {"status": {"a": 2}}, "kubectl", force=False)["status"] == {"a": 1}


@pytest.mark.parametrize(
    ("spec", "metadata", "message"),
    [
        (
            {"containers": [{"name": "a"}, {"name": "a"}]},
            {},
            '.spec.containers: duplicate entries for key [name="a"]',
        ),
        (
            {
                "containers": [
                    {"name": "a", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]}
                ]
            },
            {},
            '.spec.containers[name="a"].ports: duplicate entries for key [containerPort=1,protocol="TCP"]',
        ),
        ({}, {"finalizers": ["a", "a"]}, '.metadata.finalizers: duplicate entries for key [="a"]'),
        (
            {"skipNodeOperations": ["*", "*"]},
            {},
            '.spec.skipNodeOperations: duplicate entries for key [="*"]',
        ),
    ],
)
def test_entries_with_the_same_keys(spec: Any, metadata: Any, message: str) -> None:
    """They cannot be merged."""
    configuration = {"apiVersion": "v1", "kind": "K", "spec": spec, "metadata": {"name": "x", **metadata}}
    with pytest.raises(ConfigurationRefused) as refused:
        server_side_applied(_stored(), configuration, "kubectl", force=True)
    assert str(refused.value) == f"failed to create typed patch object (/x; /v1, Kind=K): {message}"
    ports = [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]
    server_side_applied(
        _stored(), {"spec": {"containers": [{"name": "a", "ports": ports}]}}, "kubectl", force=False
    )


def test_many_entries_are_looked_up_once() -> None:
    """10,000 owners and as many fields of theirs: an entry is looked at once for each list, not for each field."""
    owners = [{"uid": str(number), "name": "p"} for number in range(10_000)]
    fields: Any = {
        "f:metadata": {"f:ownerReferences": {f'k:{{"uid":"{number}"}}': {} for number in range(10_000)}}
    }
    stored = _stored(_managed("ctl", fields))
    stored["metadata"]["ownerReferences"] = owners
    changed = [*owners[:-1], {**owners[-1], "name": "q"}]
    message = _conflict(stored, {"metadata": {"ownerReferences": changed}})
    assert message.endswith('.metadata.ownerReferences[uid="9999"]')
