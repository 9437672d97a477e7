"""Values of named string types appear in errors as JSON writes them, plain texts as Go does."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.releases import Profile
from validation.requests import UPDATE, Request
from validation.server import Server

STRANGE = "a<\u0000"
AS_JSON, AS_GO = r'"a\u003c\u0000"', r'"a<\x00"'
DRA = "resource.k8s.io/v1"


def node_selector(requirements: str) -> dict[str, Any]:
    requirement = {"key": "k", "operator": STRANGE, "values": ["v"]}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    return {
        "driver": "d",
        "pool": pool,
        "nodeSelector": {"nodeSelectorTerms": [{requirements: [requirement]}]},
    }


def pod(resource: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"limits": {resource: "1"}}}
    return {"containers": [container]}


def claim(request: dict[str, Any], **devices: Any) -> dict[str, Any]:
    return {
        "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c", **request}}], **devices}
    }


@pytest.mark.parametrize(
    ("release", "api_version", "kind", "spec", "detail", "printed"),
    [
        pytest.param(
            "1.37",
            DRA,
            "ResourceSlice",
            node_selector("matchExpressions"),
            "not a valid selector operator",
            AS_JSON,
            id="operator-over-labels",
        ),
        pytest.param(
            "1.37",
            DRA,
            "ResourceSlice",
            node_selector("matchFields"),
            "not a valid selector operator",
            AS_JSON,
            id="operator-over-fields",
        ),
        pytest.param(
            "1.37",
            "v1",
            "Pod",
            pod(STRANGE),
            "must be a standard resource for containers",
            AS_JSON,
            id="resource-name",
        ),
        pytest.param(
            "1.36",
            DRA,
            "ResourceClaim",
            claim({}, constraints=[{"matchAttribute": STRANGE}]),
            "a fully qualified name must be a domain and a name separated by a slash",
            AS_JSON,
            id="attribute-by-hand",
        ),
        pytest.param(
            "1.37",
            DRA,
            "ResourceClaim",
            claim({}, constraints=[{"matchAttribute": STRANGE}]),
            "a fully qualified name must be a domain and a name separated by a slash",
            AS_GO,
            id="attribute-declared",
        ),
    ],
)
def test_printed(release: str, api_version: str, kind: str, spec: Any, detail: str, printed: str) -> None:
    """The value before the detail is in the form that its Go type calls for."""
    body = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "namespace": "n"},
        "spec": spec,
    }
    if kind == "ResourceSlice":
        del body["metadata"]["namespace"]
    answer = Server(Profile(release)).handle(
        Request(api_version=api_version, kind=kind, namespace="n", body=body)
    )
    assert f"Invalid value: {printed}: {detail}" in [error.message for error in answer.errors]


def test_printed_as_a_pointer() -> None:
    """The node of a slice is a pointer, the driver is not."""
    spec = {
        "driver": STRANGE,
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "nodeName": STRANGE,
    }
    body = {"apiVersion": DRA, "kind": "ResourceSlice", "metadata": {"name": "x"}, "spec": spec}
    old = {**body, "spec": {**spec, "driver": "d", "nodeName": "n"}}
    answer = Server(Profile("1.37")).handle(
        Request(verb=UPDATE, api_version=DRA, kind="ResourceSlice", body=body, old=old, name="x")
    )
    messages = [str(error) for error in answer.errors]
    assert f"spec.driver: Invalid value: {AS_GO}: field is immutable" in messages
    assert f"spec.nodeName: Invalid value: {AS_JSON}: field is immutable" in messages


def test_printed_where_it_is_not_found() -> None:
    """The name of a capacity that a device does not have is of a named type."""
    mapping = {"cpu": {"mapping": {"capacityKey": STRANGE, "capacityMultiplier": "1"}}}
    spec = node_selector("matchFields") | {"devices": [{"name": "d", "nodeAllocatableResources": mapping}]}
    body = {"apiVersion": DRA, "kind": "ResourceSlice", "metadata": {"name": "x"}, "spec": spec}
    server = Server(Profile("1.37", {"DRANodeAllocatableResources": True}))
    answer = server.handle(Request(api_version=DRA, kind="ResourceSlice", body=body))
    assert f"Not found: {AS_JSON}" in [error.message for error in answer.errors]
