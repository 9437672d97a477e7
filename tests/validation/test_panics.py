"""Where a real server's process of a request ends: steps of request policies by which it divides by zero."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.gates import parse
from resourceapi.releases import Profile
from tests.validation.rule_cases import fixture
from validation.requests import CREATE, Request
from validation.server import Server


@pytest.mark.parametrize(
    ("release", "gate", "step", "code"),
    [
        pytest.param("1.34", "on", "0", 500, id="zero"),
        pytest.param("1.36", "on", "0", 500, id="zero-later"),
        pytest.param("1.34", "on", str(2**64), 500, id="zero-in-64-bits"),
        pytest.param("1.34", "on", "500m", 201, id="rounded-up-to-one"),
        pytest.param("1.34", "off", "0", 201, id="dropped"),
    ],
)
def test_steps_of_nothing(release: str, gate: str, step: str, code: int) -> None:
    """The answer is claimcheck's own: it says that the server gives none, and why."""
    settings = f"DRAConsumableCapacity={'true' if gate == 'on' else 'false'}"
    policy = {"default": "1", "validRange": {"min": "1", "step": step}}
    obj = {**fixture("slice.v1")}
    device: dict[str, Any] = {"name": "a", "capacity": {"memory": {"value": "4", "requestPolicy": policy}}}
    if gate == "on":
        device["allowMultipleAllocations"] = True
    obj["spec"] = {
        "driver": "gpu.example.com",
        "nodeName": "node-a",
        "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
        "devices": [device],
    }
    answer = Server(Profile(release, parse(settings)), namespaces={}).handle(
        Request(
            verb=CREATE, api_version=obj["apiVersion"], kind=obj["kind"], namespace="", body=obj, old=None
        )
    )
    assert answer.code == code, answer.message
    if code == 500:
        assert "divides by zero" in answer.message
