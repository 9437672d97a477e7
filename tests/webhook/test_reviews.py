"""Envelopes: what is taken for a review, and what is not."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from serving.routes import MAX_MESSAGE
from tests.webhook.examples import admission, claim, conversion
from webhook.reviews import (
    UNKNOWN_NAMESPACE,
    WebhookError,
    allow,
    deny,
    namespace_in_head,
    namespace_of_first,
    parse_admission,
    parse_conversion,
)


def changed(review: dict[str, Any], **members: Any) -> dict[str, Any]:
    """The review with other members in its request."""
    return {**review, "request": {**review["request"], **members}}


def test_admission_is_read() -> None:
    """Everything that verdicts depend on is read; what the API leaves out has its zero value."""
    request = parse_admission(changed(admission(claim()), dryRun=True))
    assert (request.api_version, request.kind, request.operation) == (
        "resource.k8s.io/v1",
        "ResourceClaim",
        "CREATE",
    )
    assert (request.name, request.namespace, request.subresource) == ("claim", "team", "")
    assert (request.user, request.groups, request.dry_run, request.old) == (
        "jane",
        ("developers",),
        True,
        None,
    )


SAID = {"name": 'x","namespace":"other', "annotations": {"namespace": "other"}}


@pytest.mark.parametrize(
    "separators", [(",", ":"), (", ", ": "), (",\n  ", " :\t")], ids=["compact", "usual", "wide"]
)
@pytest.mark.parametrize(
    ("members", "namespace"),
    [
        ({"name": "claim", "namespace": "team"}, "team"),
        ({"name": SAID["name"], "namespace": "team"}, "team"),
        ({"name": "namespace", "namespace": "team"}, "team"),
        ({"name": "x" * 3000, "namespace": "team"}, "team"),
        ({"name": "slice"}, "user/jane"),
        ({"name": SAID["name"]}, "user/jane"),
        ({"name": "x" * 5000, "namespace": "team"}, UNKNOWN_NAMESPACE),
        ({"name": "claim", "namespace": "n" * 64}, UNKNOWN_NAMESPACE),
        ({"name": "claim", "namespace": "te\u00e4m"}, UNKNOWN_NAMESPACE),
        ({"name": "claim", "namespace": 5}, UNKNOWN_NAMESPACE),
    ],
)
def test_namespace_is_told_from_the_beginning(
    members: dict[str, Any], namespace: str, separators: tuple[str, str]
) -> None:
    """In the order in which API servers write a request; whatever users write into their objects does not count."""
    kind = {"group": "resource.k8s.io", "version": "v1", "kind": "ResourceClaim"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        **dict.fromkeys(("kind", "requestKind"), kind),
        **members,
        "operation": "CREATE",
        "userInfo": {"username": "jane", "extra": {"namespace": ["other"]}},
        "object": {"metadata": {**SAID, "namespace": "other"}},
    }
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    assert namespace_in_head(json.dumps(review, separators=separators).encode()) == namespace


@pytest.mark.parametrize(
    ("user", "namespace"),
    [
        (
            {"username": "system:serviceaccount:team:driver", "uid": "1"},
            "user/system:serviceaccount:team:driver",
        ),
        ({"username": "u" * 256}, "user/" + "u" * 256),
        ({"username": "u" * 257}, UNKNOWN_NAMESPACE),
        ({"username": 'jane"'}, UNKNOWN_NAMESPACE),
        ({"groups": ["g"], "username": "jane"}, UNKNOWN_NAMESPACE),
        ({"username": 5}, UNKNOWN_NAMESPACE),
        ({}, UNKNOWN_NAMESPACE),
        (None, UNKNOWN_NAMESPACE),
    ],
    ids=["driver", "longest", "too-long", "escaped", "elsewhere", "number", "nobody", "null"],
)
def test_cluster_scoped_objects_are_of_who_writes_them(user: Any, namespace: str) -> None:
    """As far as the beginning tells; no namespace has a slash in its name."""
    request = {
        "name": "slice",
        "operation": "UPDATE",
        "userInfo": user,
        "object": {"userInfo": {"username": "jim"}},
    }
    assert namespace_in_head(json.dumps({"request": request}).encode()) == namespace


@pytest.mark.parametrize(
    ("metadata", "namespace"),
    [
        ({"name": "claim", "namespace": "team"}, "team"),
        (
            {"annotations": {"namespace": "other"}, "labels": SAID, "name": "claim", "namespace": "team"},
            "team",
        ),
        ({"annotations": {"namespace": "other"}, "name": "slice"}, ""),
        ({"annotations": {"a": "x" * 60_000}, "name": "claim", "namespace": "team"}, "team"),
        ({"annotations": {"a": "x" * 70_000}, "name": "claim", "namespace": "team"}, UNKNOWN_NAMESPACE),
        ({"name": "claim", "namespace": "n" * 64}, UNKNOWN_NAMESPACE),
        ({"name": "claim", "namespace": 5}, UNKNOWN_NAMESPACE),
        (["namespace", "team"], UNKNOWN_NAMESPACE),
        (None, UNKNOWN_NAMESPACE),
    ],
    ids=["plain", "spoofed", "cluster-scoped", "long", "too-long", "no-name", "number", "list", "null"],
)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["compact", "spaced"])
def test_namespace_of_what_is_to_be_converted(
    metadata: Any, namespace: str, separators: tuple[str, str]
) -> None:
    """In the order in which API servers write objects; no annotation or label is taken for it."""
    obj = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": SAID}
    second = {**obj, "metadata": {"namespace": "second"}}
    request = {"uid": "1", "desiredAPIVersion": "resource.k8s.io/v1beta1", "objects": [obj, second]}
    review = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request}
    assert namespace_of_first(json.dumps(review, separators=separators).encode()) == namespace


@pytest.mark.parametrize(
    "body",
    [b"", b'{"metadata":', b'{"metadata":{"a":' + b"[" * 70_000, b'{"metadata":\xff'],
    ids=["empty", "end", "deep", "bytes"],
)
def test_no_namespace_of_what_is_no_review(body: bytes) -> None:
    """Whatever the bytes are, they have some turn."""
    assert namespace_of_first(body) == UNKNOWN_NAMESPACE


@pytest.mark.parametrize(
    "unit", [b'"namespace"', b'"namespace" ', b'"', b" ", b'"object', b'"namespace":[', b"\xff"]
)
def test_looking_for_the_namespace_is_bounded(unit: bytes) -> None:
    """Whatever the bytes are, a megabyte of them takes no longer than the first few thousand."""
    body = b'{"namespace"' + unit * (1024 * 1024 // len(unit))
    begin = time.process_time()
    for _ in range(10):
        assert namespace_in_head(body) == UNKNOWN_NAMESPACE
    assert time.process_time() - begin < 0.1


def test_a_created_object_has_no_old_one() -> None:
    """API servers send none with CREATE: fields that it uses must not count as in use already."""
    assert parse_admission(changed(admission(claim()), oldObject=claim())).old is None
    assert parse_admission(admission(claim(), claim())).old == claim()


def test_core_group_has_no_slash() -> None:
    """The kinds of the core group have an apiVersion without a group."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    assert parse_admission(admission(pod)).api_version == "v1"


GOOD = admission(claim())
BAD_ADMISSIONS: dict[str, tuple[Any, str]] = {
    "no-object": ([], "the body must be an object of admission.k8s.io/v1, kind AdmissionReview"),
    "other-version": (
        {**GOOD, "apiVersion": "admission.k8s.io/v1beta1"},
        "expected admission.k8s.io/v1, kind AdmissionReview; found admission.k8s.io/v1beta1, kind AdmissionReview",
    ),
    "no-request": ({**GOOD, "request": None}, "request is missing"),
    "request-of-another-type": ({**GOOD, "request": 1}, "request must be an object"),
    "no-uid": (changed(GOOD, uid=None), "request.uid is missing"),
    "empty-uid": (changed(GOOD, uid=""), "request.uid is missing"),
    "uid-of-another-type": (changed(GOOD, uid=7), "request.uid must be a string"),
    "no-kind": (changed(GOOD, kind=None), "request.kind.version is missing"),
    "other-operation": (
        changed(GOOD, operation="PATCH"),
        "request.operation: 'PATCH' must be one of CREATE, UPDATE, DELETE, CONNECT",
    ),
    "no-new-object": (changed(GOOD, object=None), "request.object is missing, which CREATE must have"),
    "object-of-another-type": (changed(GOOD, object=[]), "request.object must be an object"),
    "update-without-old": (
        changed(GOOD, operation="UPDATE"),
        "request.oldObject is missing, which UPDATE must have",
    ),
    "dry-run-as-text": (changed(GOOD, dryRun="true"), "request.dryRun must be true or false"),
    "groups-not-a-list": (
        changed(GOOD, userInfo={"groups": "a"}),
        "request.userInfo.groups must be a list",
    ),
    "groups-not-strings": (
        changed(GOOD, userInfo={"groups": [1]}),
        "request.userInfo.groups must be a list of strings",
    ),
}


@pytest.mark.parametrize("name", BAD_ADMISSIONS)
def test_bad_admission_is_refused(name: str) -> None:
    """What is no AdmissionReview v1 is an error of the sender, with the member that is wrong."""
    review, message = BAD_ADMISSIONS[name]
    with pytest.raises(WebhookError) as caught:
        parse_admission(review)
    assert (caught.value.message, caught.value.code) == (message, 400)


BAD_CONVERSIONS: dict[str, tuple[dict[str, Any], str]] = {
    "no-version": ({"desiredAPIVersion": None}, "request.desiredAPIVersion is missing"),
    "no-uid": ({"uid": None}, "request.uid is missing"),
    "objects-not-a-list": ({"objects": {}}, "request.objects must be a list"),
    "object-of-another-type": ({"objects": [{}, 1]}, "request.objects[1] must be an object"),
}


@pytest.mark.parametrize("name", BAD_CONVERSIONS)
def test_bad_conversion_is_refused(name: str) -> None:
    """What is no ConversionReview v1 is an error of the sender, too."""
    members, message = BAD_CONVERSIONS[name]
    with pytest.raises(WebhookError, match=r"^request") as caught:
        parse_conversion(changed(conversion([], "v1"), **members))
    assert caught.value.message == message


def test_errors_are_short() -> None:
    """Whatever a request says, an error that quotes it is no longer than a page."""
    with pytest.raises(WebhookError) as caught:
        parse_admission(changed(admission(claim()), operation="X" * 3_000_000))
    assert len(caught.value.message) == MAX_MESSAGE


def test_answers_have_what_the_api_wants() -> None:
    """The answer has the request's uid; members without content are left out."""
    request = parse_admission(GOOD)
    assert allow(request) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": request.uid, "allowed": True},
    }
    refused = deny(request, {"code": 403}, warnings=["w"], audit={"policy": "refused"})["response"]
    assert refused == {
        "uid": request.uid,
        "allowed": False,
        "status": {"code": 403},
        "warnings": ["w"],
        "auditAnnotations": {"policy": "refused"},
    }
