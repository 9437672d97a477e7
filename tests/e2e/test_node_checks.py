"""What `explain` says of nodes that lack something beside devices, in the words of kube-scheduler, is what it says."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from commandline.main import main
from tests.commandline.snapshot_files import DIRECTORY
from tests.e2e.client import Client
from tests.e2e.control_plane import component, control_plane

MAX_SECONDS = 120.0
SEEDS = range(1, 3)
CASE = DIRECTORY / "explain" / "node-resources"
_PATHS = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/default/pods",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
}


@pytest.fixture
def client() -> Iterator[Client]:
    """A server with a scheduler and the controllers that make claims from templates, without nodes."""
    with (
        control_plane("1.37") as server,
        component(server, "kube-controller-manager", ["--controllers=resourceclaim-controller"]),
        component(server, "kube-scheduler", ["--kube-api-qps=500", "--kube-api-burst=1000"]),
    ):
        server.client.ask("DELETE", "/api/v1/nodes/node-a")
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


def random_cases(random: Random) -> tuple[list[Any], list[Any]]:
    """Nodes with pods on them, and pods that fit nowhere: whatever else they find, there are no devices for them."""
    nodes: list[Any] = []
    for number in range(10):
        amounts = {"cpu": random.choice(("1", "2500m", "8")), "memory": random.choice(("900Mi", "2Gi", "1G"))}
        amounts |= {"pods": random.choice(("1", "2", "110")), "ephemeral-storage": "10Gi"}
        amounts |= random.choice(
            ({}, {}, {"example.com/gpu": "1"}, {"example.com/gpu": "0"}, {"hugepages-2Mi": "8Mi"})
        )
        taints = [
            {"key": "t", "value": value, "effect": "NoSchedule"}
            for value in random.sample("ab", random.randint(0, 1))
        ]
        labels = {"zone": random.choice(("east", "west")), "kubernetes.io/hostname": f"r{number}"}
        spec = {"taints": taints, **({"unschedulable": True} if random.random() < 0.1 else {})}
        node = {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {"name": f"r{number}", "labels": labels},
            "spec": spec,
        }
        nodes.append({**node, "status": {"allocatable": amounts}})
    on_nodes = [_pod(random, f"on{number}", {"nodeName": f"r{random.randrange(10)}"}) for number in range(6)]
    return [*nodes, *on_nodes], [_pod(random, f"new{number}", _wishes(random)) for number in range(25)]


def _pod(random: Random, name: str, spec: dict[str, Any]) -> Any:
    first = [
        {**_container(random, f"i{number}"), **random.choice(({}, {"restartPolicy": "Always"}))}
        for number in range(random.randint(0, 2))
    ]
    whole = random.choice(({}, {}, {"resources": {"requests": {"cpu": "7"}, "limits": {"memory": "1900Mi"}}}))
    containers = [_container(random, f"c{number}") for number in range(random.randint(1, 2))]
    if not spec.get("nodeName"):
        containers[0]["resources"].setdefault("limits", {})["example.com/gpu"] = str(random.randint(2, 3))
    spec = {**spec, **whole, "initContainers": first, "containers": containers}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def _container(random: Random, name: str) -> dict[str, Any]:
    amounts = {
        "cpu": random.choice(("100m", "1", "1500m")),
        "memory": random.choice(("100Mi", "500M", "0.5Gi")),
        "ephemeral-storage": random.choice(("1Gi", "6Gi")),
    }
    chosen = {key: amounts[key] for key in random.sample(sorted(amounts), random.randint(0, 3))}
    return {"name": name, "image": "x", "resources": {random.choice(("requests", "limits")): chosen}}


def _wishes(random: Random) -> dict[str, Any]:
    wishes: dict[str, Any] = {}
    if random.random() < 0.4:
        wishes["nodeSelector"] = {"zone": random.choice(("east", "west", "north"))}
    if random.random() < 0.5:
        wishes["tolerations"] = [random.choice(({"operator": "Exists"}, {"key": "t", "value": "a"}))]
    if random.random() < 0.3:
        term = {
            "matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["r1", "r2"]}
            ]
        }
        required = {"nodeSelectorTerms": [term]}
        wishes["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return wishes


@pytest.mark.parametrize("seed", SEEDS)
def test_random(seed: int, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of random pods on random nodes, the messages are the same."""
    given = [each for each in documents("cluster.yaml") if each["kind"] == "DeviceClass"]
    cluster, pods = random_cases(Random(seed))
    for each in (*given, *cluster, *pods):
        make(client, each)
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([*given, *cluster]), encoding="utf-8")
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump_all(pods), encoding="utf-8")
    main(
        ["explain", str(tmp_path / "pods.yaml"), "--inventory", str(tmp_path / "cluster.yaml"), "-o", "json"]
    )
    explained = json.loads(capsys.readouterr().out)["objects"]
    ours = {each["name"]: each.get("kubeSchedulerWouldSay") for each in explained}
    theirs = {name: condition(client, name)["message"].partition(" preemption:")[0] for name in ours}
    assert ours == theirs


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
    for each in documents("cluster.yaml"):
        make(client, each)
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
