"""The outcomes in the tables are those of a real kube-scheduler: node, what the pod's status says, reasons; and what was promised of devices."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

import pytest

from resourceapi.gates import UNRELEASED_GATES
from resourceapi.manifests import mapping, name_of
from tests.claimcheck.outcomes import GROUP, Case, Object, cases, outcome_of
from tests.e2e.client import Client
from tests.e2e.control_plane import component, control_plane
from tests.e2e.scheduled import BOUND, UNKNOWN, settle, state_of, until

NAMESPACED = {"ResourceClaim": "resourceclaims", "Pod": "pods"}
RESOURCES = {"Node": "nodes", "DeviceClass": "deviceclasses", "ResourceSlice": "resourceslices", **NAMESPACED}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A server with a scheduler that has the gates of all cases."""
    gates = sorted({gate for case in cases() for gate in case.gates} - UNRELEASED_GATES.keys())
    flag = "--feature-gates=" + ",".join(f"{each}=true" for each in gates)
    with (
        control_plane("1.37", flags=[flag, "--runtime-config=api/all=true"]) as server,
        component(server, "kube-scheduler", [flag, "--kube-api-qps=500", "--kube-api-burst=1000"]),
    ):
        yield server.client


@pytest.fixture(scope="module")
def prepared(client: Client) -> list[Case]:
    """All cases, with everything but their pods on the server."""
    found = list(cases())
    for case in found:
        for each in case.objects:
            _make(client, each)
    settle(client)
    return found


def test_outcomes(client: Client, prepared: list[Case]) -> None:
    """Of the pods of each case, which come one after the other."""
    outcomes: dict[str, list[Object]] = {case.name: [] for case in prepared}
    for turn in range(max(len(case.pods) for case in prepared)):
        waiting = {name_of(case.pods[turn]): case.name for case in prepared if turn < len(case.pods)}
        for case in prepared:
            for pod in case.pods[turn : turn + 1]:
                _make(client, pod)
        for name, outcome in _ended(client, waiting.keys()).items():
            outcomes[waiting[name]].append(outcome)
    assert outcomes == {case.name: list(case.expected) for case in prepared}


def _ended(client: Client, names: Collection[str]) -> dict[str, Object]:
    """What has become of these pods, once that is known of all."""
    pods: dict[str, Object] = {}

    def are_known() -> bool:
        listed = client.ask("GET", "/api/v1/namespaces/default/pods").body["items"]
        pods.update({name_of(each): each for each in listed})
        return all(name in pods and state_of(pods[name]).outcome != UNKNOWN for name in names)

    until(are_known)
    states = {name: state_of(pods[name]) for name in names}
    return {
        name: outcome_of(
            state.node if state.outcome == BOUND else "", state.message, mapping(pods[name], "status")
        )
        for name, state in states.items()
    }


def _make(client: Client, obj: Object) -> None:
    version, kind = obj["apiVersion"], obj["kind"]
    base = f"/apis/{version}" if version == GROUP else f"/api/{version}"
    namespace = "/namespaces/default" if kind in NAMESPACED else ""
    path = f"{base}{namespace}/{RESOURCES[kind]}"
    answer = client.ask("POST", path, obj)
    assert answer.code == 201, (path, json.dumps(answer.body)[:500])
    if kind == "Node":
        ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
        status = {"status": {**obj["status"], "conditions": [ready]}}
        for at, body in (("/status", status), ("", {"spec": {"taints": None}})):
            patch = "application/merge-patch+json"
            answer = client.ask("PATCH", f"{path}/{name_of(obj)}{at}", body, content_type=patch)
            assert answer.code == 200, answer.body
