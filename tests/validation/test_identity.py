"""An update is refused unless it is for the stored object and its newest state, in the server's order and words."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.releases import Profile
from validation import statuses
from validation.requests import UPDATE, Answer, Request
from validation.server import Server

CONFLICT = (
    'Operation cannot be fulfilled on deviceclasses.resource.k8s.io "c": the object has been modified; '
    "please apply your changes to the latest version and try again"
)
STORED = {"name": "c", "uid": "stored-uid", "resourceVersion": "42"}


def updated(
    metadata: dict[str, Any],
    *,
    kind: str = "DeviceClass",
    sends_version: bool = False,
    is_patch: bool = False,
) -> Answer:
    """The answer to replacing the stored object by one with this metadata."""
    spec = {"taint": {"key": "k", "effect": "NoExecute"}} if kind == "DeviceTaintRule" else {}
    typed = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "spec": spec}
    return Server(Profile("1.37")).handle(
        Request(
            verb=UPDATE,
            api_version="resource.k8s.io/v1",
            kind=kind,
            body={**typed, "metadata": {"name": "c", **metadata}},
            old={**typed, "metadata": dict(STORED)},
            name="c",
            has_resource_version=sends_version,
            is_patch=is_patch,
        )
    )


@pytest.mark.parametrize(
    ("resource_version", "code", "message"),
    [
        pytest.param("42", 200, "", id="the-stored-one"),
        pytest.param("042", 200, "", id="the-stored-one-with-a-zero-before-it"),
        pytest.param("", 200, "", id="none"),
        pytest.param("0", 200, "", id="zero-is-none"),
        pytest.param("41", 409, CONFLICT, id="an-older-one"),
        pytest.param("abc", 500, 'strconv.ParseUint: parsing "abc": invalid syntax', id="no-number"),
        pytest.param("-1", 500, 'strconv.ParseUint: parsing "-1": invalid syntax', id="negative"),
        pytest.param("٤٢", 500, 'strconv.ParseUint: parsing "٤٢": invalid syntax', id="other-digits"),
        pytest.param("18446744073709551615", 409, CONFLICT, id="largest"),
        pytest.param(
            "18446744073709551616",
            500,
            'strconv.ParseUint: parsing "18446744073709551616": value out of range',
            id="too-large",
        ),
    ],
)
def test_resource_version(resource_version: str, code: int, message: str) -> None:
    """The resourceVersion is compared as a number; what is none is an error of the server."""
    answer = updated({"resourceVersion": resource_version})
    assert (answer.code, answer.message) == (code, message)


def test_taint_rules_must_name_a_version() -> None:
    """Some kinds are not updated without a resourceVersion; zero is as good as none."""
    for metadata in ({}, {"resourceVersion": "0"}):
        answer = updated(metadata, kind="DeviceTaintRule")
        assert answer.message == (
            'devicetaintrules.resource.k8s.io "c" is invalid: metadata.resourceVersion: Invalid value: 0: '
            "must be specified for an update"
        )
    assert updated({}, kind="DeviceTaintRule", sends_version=True).code == 200


def test_another_uid_is_another_object() -> None:
    """The uid is a precondition, checked before the resourceVersion."""
    answer = updated({"uid": "another", "resourceVersion": "abc"})
    assert answer.code == 409
    assert answer.message.endswith(
        "Precondition failed: UID in precondition: another, UID in object meta: stored-uid"
    )


def test_uid_of_a_patched_object_is_immutable() -> None:
    """A patch has no preconditions: the uid is one of the object's fields."""
    answer = updated({"uid": "abc"}, is_patch=True)
    assert (answer.code, answer.message) == (
        422,
        'DeviceClass.resource.k8s.io "c" is invalid: metadata.uid: Invalid value: "abc": field is immutable',
    )


def test_name_must_be_that_of_the_url() -> None:
    """No name and another name are refused before all else but the namespace."""
    assert updated({"name": "d", "resourceVersion": "abc"}).message == (
        "the name of the object (d) does not match the name on the URL (c)"
    )
    assert updated({"name": ""}).message == (
        "the name of the object (c based on URL) was undeterminable: name must be provided"
    )


@pytest.mark.parametrize(("api_version", "kind"), [("resource.k8s.io/v1", "DeviceClass"), ("v1", "Pod")])
def test_bodies_have_a_limit(api_version: str, kind: str) -> None:
    """A body of 3 MiB is read, one that has a byte more is not, whatever is in it."""
    for size, code in ((3 * 1024 * 1024, 400), (3 * 1024 * 1024 + 1, 413)):
        answer = Server(Profile("1.37")).handle(
            Request(api_version=api_version, kind=kind, namespace="n", raw="[" * size)
        )
        assert answer.code == code
    assert (answer.reason, answer.message) == (
        "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        pytest.param(
            "v1", "List", "converting (v1.List) to (resource.DeviceClass): unknown conversion", id="list"
        ),
        pytest.param(
            "resource.k8s.io/v1alpha3",
            "ResourcePoolStatusRequest",
            "converting (v1alpha3.ResourcePoolStatusRequest) to (resource.DeviceClass): unknown conversion",
            id="known-kind-without-a-model",
        ),
        pytest.param(
            "resource.k8s.io/v1",
            "Gadget",
            'no kind "Gadget" is registered for version "resource.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"',
            id="unknown-kind",
        ),
    ],
)
def test_a_body_of_another_kind(api_version: str, kind: str, message: str) -> None:
    """A kind that the server knows cannot be converted, whatever is in it; one that it does not know is named."""
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "unknown": 1}
    answer = Server(Profile("1.37")).handle(
        Request(api_version="resource.k8s.io/v1", kind="DeviceClass", body=body)
    )
    version = api_version.rpartition("/")[2]
    assert answer.message == f'{kind} in version "{version}" cannot be handled as a DeviceClass: {message}'


def test_a_body_is_shown_up_to_thirty_bytes() -> None:
    """A body that is no JSON is shown by its beginning; each byte of a character that is cut becomes U+FFFD."""
    answer = Server(Profile("1.37")).handle(
        Request(
            api_version="resource.k8s.io/v1", kind="DeviceClass", raw='{"apiVersion": "", "kind": "\u2028", '
        )
    )
    assert answer.message.endswith(
        'unexpected end of JSON input ({"apiVersion": "", "kind": "\ufffd\ufffd ...)'
    )


def test_details_are_as_the_servers() -> None:
    """Details and reasons that the server does not give are left out of a status; an empty one is where it has one."""
    request = Request(
        verb="create", api_version="resource.k8s.io/v1", kind="DeviceClass", body={"spec": 3}, name="c"
    )
    undecodable = Server(Profile("1.37")).handle(request).status()
    assert undecodable["code"] == 400
    assert set(undecodable) == {"kind", "apiVersion", "metadata", "status", "message", "reason", "code"}
    renamed = updated({"name": "d"}).status()
    assert (renamed["code"], "details" in renamed) == (400, False)
    unreadable = updated({"resourceVersion": "x"}).status()
    assert (unreadable["code"], "details" in unreadable, "reason" in unreadable) == (500, False, False)
    assert statuses.not_served().status()["details"] == {}
    conflict = updated({"resourceVersion": "7"}).status()
    assert conflict["details"] == {"name": "c", "group": "resource.k8s.io", "kind": "deviceclasses"}
