"""How the two generations of the server's rules go together in one answer."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.releases import Profile
from validation.requests import STATUS, Request
from validation.server import Server

RESULT = {"request": "r", "driver": "d", "pool": "p", "device": "x"}


def claim(operations: list[str]) -> dict[str, Any]:
    """An allocated claim whose device skips node operations."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "n"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "k"}}]}},
        "status": {"allocation": {"devices": {"results": [{**RESULT, "skipNodeOperations": operations}]}}},
    }


@pytest.mark.parametrize(
    ("release", "detail"),
    [
        pytest.param("1.37", "field cannot be modified once set", id="the-declared-rule-reports"),
        pytest.param("1.37 by hand", "field is immutable", id="the-hand-written-rule-reports"),
    ],
)
def test_what_may_not_change_is_not_looked_into(release: str, detail: str) -> None:
    """An allocation that may not change is reported alone, whichever generation words it, not what is wrong in it."""
    number, _, by_hand = release.partition(" ")
    gates = {"DeclarativeValidationBeta": False} if by_hand else {}
    answer = Server(Profile(number, gates)).handle(
        Request(
            verb=STATUS,
            api_version="resource.k8s.io/v1",
            kind="ResourceClaim",
            namespace="n",
            body=claim(["NodeUnprepareResources", "NodeUnprepareResources"]),
            old=claim(["NodeUnprepareResources"]),
        )
    )
    assert [error.field for error in answer.errors] == ["status.allocation"]
    assert answer.errors[0].message.endswith(detail)
