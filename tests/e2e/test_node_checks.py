"""What `explain` says of nodes that lack something beside devices, in the words of kube-scheduler, is what it says."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from commandline.main import main
from tests.commandline.snapshot_files import DIRECTORY
from tests.e2e.client import Client
from tests.e2e.control_plane import component, control_plane

MAX_SECONDS = 120.0
CASE = DIRECTORY / "explain" / "node-resources"
_PATHS = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/default/pods",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A server with a scheduler and the controllers that make claims from templates, and the nodes of the case."""
    with (
        control_plane("1.37") as server,
        component(server, "kube-controller-manager", ["--controllers=resourceclaim-controller"]),
        component(server, "kube-scheduler", ["--kube-api-qps=500", "--kube-api-burst=1000"]),
    ):
        server.client.ask("DELETE", "/api/v1/nodes/node-a")
        for each in documents("cluster.yaml"):
            make(server.client, each)
        yield server.client


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((CASE / name).read_text(encoding="utf-8")))


def make(client: Client, obj: Any) -> None:
    path = _PATHS[obj["kind"]]
    answer = client.ask("POST", path, obj)
    assert answer.code == 201, answer.body
    if obj["kind"] != "Node":
        return
    path = f"{path}/{obj['metadata']['name']}"
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
    status = {"allocatable": obj["status"]["allocatable"], "conditions": [ready]}
    for end, body in (
        ("/status", {"status": {**status, "capacity": status["allocatable"]}}),
        ("", {"spec": {"taints": obj.get("spec", {}).get("taints")}}),
    ):
        patched = client.ask("PATCH", path + end, body, content_type="application/merge-patch+json")
        assert patched.code == 200, patched.body


def condition(client: Client, pod: str) -> Any:
    """What the scheduler says of a pod: the node, or the message of the condition PodScheduled about all nodes."""
    deadline = time.monotonic() + MAX_SECONDS
    while time.monotonic() < deadline:
        found = client.ask("GET", f"{_PATHS['Pod']}/{pod}").body
        for each in found.get("status", {}).get("conditions", ()):
            if each["type"] == "PodScheduled" and (
                each["status"] == "True" or "preemption" in each["message"]
            ):
                return {"node": found["spec"].get("nodeName"), "message": each.get("message", "")}
        time.sleep(0.2)
    raise TimeoutError(f"the scheduler says nothing of {pod}")


def test_same_reasons(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """The same numbers of nodes rejected for the same reasons, and the same pods bound."""
    main(
        [
            "explain",
            "-f",
            str(CASE / "workloads.yaml"),
            "--inventory",
            str(CASE / "cluster.yaml"),
            "-o",
            "json",
        ]
    )
    explained = json.loads(capsys.readouterr().out)["objects"]
    given = {each["metadata"]["name"]: each for each in documents("workloads.yaml")}
    for each in given.values():
        if each["kind"] != "Pod":
            make(client, each)
    # Pods that fit come last and one by one, as they take from nodes what others need.
    for ours in sorted(explained, key=lambda each: bool(each["verdict"] == "fits")):
        name = ours["name"]
        make(client, given[name])
        found = condition(client, name)
        if ours["verdict"] == "fits":
            assert found["node"], (name, found)
            client.ask("DELETE", f"{_PATHS['Pod']}/{name}", query={"gracePeriodSeconds": "0"})
        else:
            assert found["message"].startswith(ours["kubeSchedulerWouldSay"] + " preemption:"), (name, found)
