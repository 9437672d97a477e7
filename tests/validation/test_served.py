"""What is not served is not found."""

from __future__ import annotations

import pytest

from resourceapi.kinds import KINDS
from resourceapi.releases import Profile
from tests.validation.rule_cases import fixture
from validation.requests import CREATE, STATUS, UPDATE, Request
from validation.server import RULES, Server

GROUP = "resource.k8s.io"


@pytest.mark.parametrize(
    ("release", "base", "verb", "version", "code"),
    [
        pytest.param("1.37", "claim.v1", CREATE, "v1", 201, id="served"),
        pytest.param("1.37", "claim.v1", CREATE, "v1alpha3", 404, id="version-of-another-kind"),
        pytest.param("1.37", "claim.v1", CREATE, "v2", 404, id="unknown-version"),
        pytest.param("1.36", "taintrule.v1", CREATE, "v1", 404, id="version-of-the-next-release"),
        pytest.param("1.37", "taintrule.v1", CREATE, "v1", 201, id="version-of-this-release"),
        pytest.param("1.37", "class.v1", STATUS, "v1", 404, id="status-of-a-class"),
        pytest.param("1.37", "template.v1", STATUS, "v1", 404, id="status-of-a-template"),
        pytest.param("1.37", "slice.v1", STATUS, "v1", 404, id="status-of-a-slice"),
        pytest.param("1.37", "claim.v1", STATUS, "v1", 200, id="status-of-a-claim"),
        pytest.param("1.37", "taintrule.v1", STATUS, "v1", 200, id="status-of-a-rule"),
        pytest.param("1.36", "poolstatus.v1alpha3", CREATE, "v1alpha3", 201, id="alpha"),
        pytest.param("1.35", "poolstatus.v1alpha3", CREATE, "v1alpha3", 404, id="alpha-of-the-next-release"),
        pytest.param("1.37", "poolstatus.v1alpha3", CREATE, "v1", 404, id="kind-without-that-version"),
    ],
)
def test_served(release: str, base: str, verb: str, version: str, code: int) -> None:
    """A version that a release lacks, and the status of a kind that has none, do not exist."""
    obj = {**fixture(base), "apiVersion": f"{GROUP}/{version}"}
    answer = Server(Profile(release), namespaces={"team-a": {}}).handle(
        Request(
            verb=verb,
            api_version=obj["apiVersion"],
            kind=obj["kind"],
            namespace=obj["metadata"].get("namespace", ""),
            body=obj,
            old=obj if verb in (UPDATE, STATUS) else None,
        )
    )
    assert answer.code == code
    if code == 404:
        assert answer.message == "the server could not find the requested resource"


def test_every_kind_has_rules() -> None:
    """A row without rules, or rules without a row, would be a kind that is only half there."""
    assert list(RULES) == list(KINDS)
