"""kube-scheduler deletes pods for another one as the sidecar says: those whose claims free what is short, on the node where
that helps; then it gets their devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from resourceapi.objects import Object
from tests.e2e.client import Client
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SchedulingCluster, scheduling_cluster, until

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
DRIVER = "gpu.example.com"
PRIORITIES = {"low": 0, "middle": 10, "high": 20}
#: Of a node, beside its devices.
CPUS = 2


@pytest.fixture(scope="module")
def cluster() -> Iterator[SchedulingCluster]:
    """One with classes of priority, and no node."""
    # pods on nodes get their devices by hand
    config = {"scheduling": {"preScheduledPods": False}}
    with scheduling_cluster(replicas=1, config=config) as found:
        for name, value in PRIORITIES.items():
            path = "/apis/scheduling.k8s.io/v1/priorityclasses"
            _make(found.client, path, {"metadata": {"name": name}, "value": value})
        _make(found.client, f"{GROUP}/deviceclasses", {"metadata": {"name": "gpu"}, "spec": {}})
        yield found


def test_victims(cluster: SchedulingCluster) -> None:
    """Both nodes lack CPU and GPUs. On one the GPU is of a pod with a higher priority, so the other is taken."""
    client = cluster.client
    for name, holder in (("n1", "low"), ("n2", "high")):
        _node(client, name, "both")
        _hold(
            client,
            f"{name}-gpu",
            name,
            _pod(client, f"{name}-gpu", holder, "both", "100m", [f"{name}-gpu"], name),
        )
        _pod(client, f"{name}-cpu", "low", "both", "1", [], name)
    _claim(client, "wanted")
    _pod(client, "wanting", "middle", "both", "1500m", ["wanted"])
    until(lambda: _leaving(client) == {"n1-gpu", "n1-cpu"}, f"others leave: {_leaving(client)}")
    until(lambda: _get(client, "wanting")["status"].get("nominatedNodeName") == "n1", "it is not nominated")
    for name in _leaving(client):  # no kubelet ends them
        client.ask("DELETE", f"{PODS}/{name}", query={"gracePeriodSeconds": "0"})
    until(lambda: _get(client, "wanting")["spec"].get("nodeName") == "n1", _message(client, "wanting"))
    assert _leaving(client) == set()
    (device,) = client.ask("GET", f"{CLAIMS}/wanted").body["status"]["allocation"]["devices"]["results"]
    assert (device["pool"], device["device"]) == ("n1", "gpu")


def test_budgets(cluster: SchedulingCluster) -> None:
    """Both nodes lack CPU and GPUs. On one the GPU is of a pod that a PodDisruptionBudget protects; so the other one is taken, where
    a pod of a higher priority has to go."""
    client = cluster.client
    budget = {"metadata": {"name": "protected"}, "spec": {"selector": {"matchLabels": {"name": "n4-gpu"}}}}
    _make(client, "/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
    for name, holder in (("n4", "low"), ("n5", "middle")):
        _node(client, name, "budgets")
        _hold(
            client,
            f"{name}-gpu",
            name,
            _pod(client, f"{name}-gpu", holder, "budgets", "100m", [f"{name}-gpu"], name),
        )
        _pod(client, f"{name}-cpu", "low", "budgets", "1", [], name)
    _claim(client, "wanted-by-one-above")
    _pod(client, "above", "high", "budgets", "1500m", ["wanted-by-one-above"])
    until(lambda: len(_leaving(client)) == 2, f"others leave: {_leaving(client)}")
    assert _leaving(client) == {"n5-gpu", "n5-cpu"}
    for name in _leaving(client):
        client.ask("DELETE", f"{PODS}/{name}", query={"gracePeriodSeconds": "0"})


def test_devices_only(cluster: SchedulingCluster) -> None:
    """Where there is room but for devices, kube-scheduler asks nobody about victims, and says so."""
    client = cluster.client
    _node(client, "n3", "devices")
    _hold(client, "n3-gpu", "n3", _pod(client, "n3-gpu", "low", "devices", "100m", ["n3-gpu"], "n3"))
    _claim(client, "short")
    _pod(client, "wanting-devices", "middle", "devices", "100m", ["short"])
    until(lambda: "few" in _message(client, "wanting-devices"), _message(client, "wanting-devices"))
    assert _message(client, "wanting-devices").endswith("Preemption is not helpful for scheduling.")
    assert "n3-gpu" not in _leaving(client)


def _leaving(client: Client) -> set[str]:
    pods = client.ask("GET", PODS).body["items"]
    return {each["metadata"]["name"] for each in pods if each["metadata"].get("deletionTimestamp")}


def _message(client: Client, name: str) -> str:
    conditions = _get(client, name)["status"].get("conditions", [])
    return str(next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), ""))


def _get(client: Client, name: str) -> Object:
    found: Object = client.ask("GET", f"{PODS}/{name}").body
    return found


def _node(client: Client, name: str, part: str) -> None:
    """A node with a GPU in a part of the cluster."""
    _make(client, "/api/v1/nodes", {"metadata": {"name": name, "labels": {"part": part}}})
    resources = {"cpu": str(CPUS), "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
    status = {"capacity": resources, "allocatable": resources, "conditions": [ready]}
    _change(client, f"/api/v1/nodes/{name}/status", {"status": status})
    _change(client, f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": [{"name": "gpu"}]}
    _make(client, f"{GROUP}/resourceslices", {"metadata": {"name": name}, "spec": spec})


def _claim(client: Client, name: str) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    _make(client, CLAIMS, {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}})


def _pod(
    client: Client, name: str, priority: str, part: str, cpu: str, claims: Sequence[str], node: str = ""
) -> Object:
    spec: Object = {
        "schedulerName": SCHEDULER_NAME,
        "priorityClassName": priority,
        "nodeSelector": {"part": part},
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
        "resourceClaims": [{"name": each, "resourceClaimName": each} for each in claims],
    }
    return _make(
        client,
        PODS,
        {
            "metadata": {"name": name, "labels": {"name": name}},
            "spec": spec | ({"nodeName": node} if node else {}),
        },
    )


def _hold(client: Client, name: str, node: str, pod: Object) -> None:
    """A claim with a node's GPU, reserved for a pod."""
    _claim(client, name)
    finalizers = ["resource.kubernetes.io/delete-protection"]
    _change(client, f"{CLAIMS}/{name}", {"metadata": {"finalizers": finalizers}})
    own = {"key": "metadata.name", "operator": "In", "values": [node]}
    allocation = {
        "devices": {"results": [{"request": "r", "driver": DRIVER, "pool": node, "device": "gpu"}]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [own]}]},
        "allocationTimestamp": "2026-01-01T00:00:00Z",
    }
    user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    _change(client, f"{CLAIMS}/{name}/status", {"status": {"allocation": allocation, "reservedFor": [user]}})


def _make(client: Client, path: str, body: Object) -> Object:
    answer = client.ask("POST", path, body)
    assert answer.code == 201, answer.body
    made: Object = answer.body
    return made


def _change(client: Client, path: str, body: Object) -> None:
    answer = client.ask("PATCH", path, body, content_type="application/merge-patch+json")
    assert answer.code == 200, answer.body
