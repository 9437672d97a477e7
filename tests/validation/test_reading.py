"""An object that a server has answered with, read in other versions."""

from __future__ import annotations

import pytest

from resourceapi.releases import Profile
from tests.validation.rule_cases import fixture
from validation.requests import Request
from validation.server import Server

ZERO = "0001-01-01T00:00:00Z"
RULE = "resource.k8s.io/v1"


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1alpha3"])
def test_the_zero_time_stays_there(version: str) -> None:
    """A server writes the zero time as null; it is there nevertheless, so that every version shows it."""
    rule = fixture("taintrule.v1")
    body = {**rule, "spec": {**rule["spec"], "taint": {**rule["spec"]["taint"], "timeAdded": ZERO}}}
    server = Server(Profile("1.37"))
    answered = server.handle(Request(api_version=RULE, kind="DeviceTaintRule", body=body)).object
    assert answered is not None
    read = server.read(answered, f"resource.k8s.io/{version}", answered=True)
    assert answered["spec"]["taint"]["timeAdded"] is None
    assert read["spec"] == answered["spec"]


def test_a_null_that_a_user_wrote_is_no_time() -> None:
    """In what is not from a server null says nothing."""
    rule = fixture("taintrule.v1")
    written = {**rule, "spec": {**rule["spec"], "taint": {**rule["spec"]["taint"], "timeAdded": None}}}
    assert "timeAdded" not in Server(Profile("1.37")).read(written, RULE)["spec"]["taint"]
