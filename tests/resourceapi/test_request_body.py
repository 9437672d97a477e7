"""A body is read as the kind it claims to be, and refused where that is not the kind of the URL."""

from __future__ import annotations

import pytest

from resourceapi.releases import Profile
from resourceapi.request_body import BadRequest, read, schemas_of

V1, V1BETA1 = "resource.k8s.io/v1", "resource.k8s.io/v1beta1"
NO_TYPE = "the object provided is unrecognized (must be of type DeviceClass): couldn't get version/kind; json parse error: "
STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)
REFUSED = " cannot be handled as a DeviceClass: "
UNREGISTERED = 'no kind "{}" is registered for version "{}" in scheme "pkg/runtime/scheme.go:111"'

REFUSALS: dict[str, tuple[str, str]] = {
    "empty": ("", NO_TYPE + "unexpected end of JSON input (<empty>)"),
    "cut": (
        '{"apiVersion":"resource.k8s.io/v1"',
        NO_TYPE + 'unexpected end of JSON input ({"apiVersion":"resource.k8s.io ...)',
    ),
    "short-and-cut": ('{"a"', NO_TYPE + 'unexpected end of JSON input ({"a")'),
    "list": ("[]", f"{NO_TYPE}json: cannot unmarshal array into Go value of type {STRUCT} (5b5d)"),
    "text": ('"x"', f"{NO_TYPE}json: cannot unmarshal string into Go value of type {STRUCT} (227822)"),
    "number-as-kind": (
        '{"kind":5}',
        NO_TYPE + 'json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})',
    ),
    "list-as-version-in-capitals": (
        '{"APIVERSION":[]}',
        NO_TYPE
        + 'json: cannot unmarshal array into Go struct field .apiVersion of type string ({"APIVERSION":[]})',
    ),
    "two-slashes": (
        '{"apiVersion":"a/b/c"}',
        (
            "the object provided is unrecognized (must be of type DeviceClass): "
            'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})'
        ),
    ),
    "unknown-kind": (
        '{"apiVersion":"resource.k8s.io/v1","kind":"Wrong"}',
        'Wrong in version "v1"' + REFUSED + UNREGISTERED.format("Wrong", V1),
    ),
    "unknown-version": (
        '{"apiVersion":"resource.k8s.io/v1alpha2"}',
        'DeviceClass in version "v1alpha2"'
        + REFUSED
        + UNREGISTERED.format("DeviceClass", "resource.k8s.io/v1alpha2"),
    ),
    "kind-without-that-version": (
        '{"apiVersion":"resource.k8s.io/v1alpha3"}',
        'DeviceClass in version "v1alpha3"'
        + REFUSED
        + UNREGISTERED.format("DeviceClass", "resource.k8s.io/v1alpha3"),
    ),
    "no-group": (
        '{"apiVersion":"v1"}',
        'DeviceClass in version "v1"' + REFUSED + UNREGISTERED.format("DeviceClass", "v1"),
    ),
    "no-version": (
        '{"apiVersion":"example.com/"}',
        'DeviceClass in version ""'
        + REFUSED
        + "Object 'apiVersion' is missing in '{\"apiVersion\":\"example.com/\"}'",
    ),
    "other-kind": (
        '{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","bogus":1}',
        'ResourceClaim in version "v1"'
        + REFUSED
        + "converting (v1.ResourceClaim) to (resource.DeviceClass): unknown conversion",
    ),
    "kind-in-capitals": (
        '{"KIND":"ResourceClaim"}',
        'ResourceClaim in version "v1"'
        + REFUSED
        + "converting (v1.ResourceClaim) to (resource.DeviceClass): unknown conversion",
    ),
    "kind-with-kelvin-sign-version-with-long-s": (
        '{"\u212aind":"ResourceClaim","apiVer\u017fion":"resource.k8s.io/v1beta1"}',
        'ResourceClaim in version "v1beta1"'
        + REFUSED
        + "converting (v1beta1.ResourceClaim) to (resource.DeviceClass): unknown conversion",
    ),
    "other-version": (
        '{"apiVersion":"resource.k8s.io/v1beta1"}',
        (
            "the API version in the data (resource.k8s.io/v1beta1) does not match "
            "the expected API version (resource.k8s.io/v1)"
        ),
    ),
    "unknown-field-of-the-other-version": (
        '{"apiVersion":"resource.k8s.io/v1beta1","x":1,"y":2}',
        'DeviceClass in version "v1beta1"'
        + REFUSED
        + 'strict decoding error: unknown field "x", unknown field "y"',
    ),
    "wrong-type": (
        '{"spec":5}',
        'DeviceClass in version "v1"'
        + REFUSED
        + "json: cannot unmarshal number into Go struct field DeviceClass.spec of type v1.DeviceClassSpec",
    ),
}


@pytest.mark.parametrize(("raw", "message"), REFUSALS.values(), ids=REFUSALS)
def test_refusals(raw: str, message: str) -> None:
    """A body that does not fit the URL is refused with the server's message."""
    with pytest.raises(BadRequest) as error:
        read(raw=raw, api_version=V1, kind="DeviceClass", schema_of=schemas_of(Profile()))
    assert error.value.text == message


@pytest.mark.parametrize(
    "raw",
    [
        "null",
        "{}",
        '{"kind":"","apiVersion":""}',
        '{"kind":null,"apiVersion":null}',
        '{"apiVersion":"resource.k8s.io/"}',
        '{"apiVersion":"/"}',
        '{"kind":"Wrong","kind":"DeviceClass","kind":null}',
    ],
)
def test_the_url_fills_in(raw: str) -> None:
    """What the body leaves out is taken from the URL."""
    decoded = read(raw=raw, api_version=V1, kind="DeviceClass", schema_of=schemas_of(Profile()), strict=False)
    assert decoded.object == {}


def test_problems_become_warnings() -> None:
    """Where unknown fields are allowed they are reported with the result, or with another refusal."""
    decoded = read(
        body={"x": 1}, api_version=V1, kind="DeviceClass", schema_of=schemas_of(Profile()), strict=False
    )
    assert [problem.text for problem in decoded.problems] == ['unknown field "x"']
    with pytest.raises(BadRequest, match="does not match") as error:
        read(
            body={"apiVersion": V1BETA1, "x": 1},
            api_version=V1,
            kind="DeviceClass",
            schema_of=schemas_of(Profile()),
            strict=False,
        )
    assert [problem.text for problem in error.value.problems] == ['unknown field "x"']


def test_bodies_without_text() -> None:
    """A body that was read from YAML is summarised as the JSON that a client would send."""
    with pytest.raises(BadRequest) as error:
        read(body={"kind": 5}, api_version=V1, kind="DeviceClass", schema_of=schemas_of(Profile()))
    assert error.value.text.endswith('({"kind":5})')
