"""What the sidecar writes into claims is what the API server, kube-scheduler and kube-controller-manager go on with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.client import Client
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SchedulingCluster, scheduling_cluster, until

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS, TEMPLATES = (
    f"{GROUP}/namespaces/default/{each}" for each in ("resourceclaims", "resourceclaimtemplates")
)
PODS = "/api/v1/namespaces/default/pods"
GPU, FABRIC = "gpu.example.com", "fabric.example.com"
MERGE = "application/merge-patch+json"
#: Sent with spaces and with characters that Go escapes: no JSON request can change a claim with them.
PARAMETERS = '{"apiVersion": "gpu.example.com/v1",  "text": "<&>", "none": null}'


@pytest.fixture(scope="module")
def cluster() -> Iterator[SchedulingCluster]:
    """Two nodes with GPUs, one with devices that are attached late."""
    with scheduling_cluster(replicas=1) as found:
        client = found.client
        make(client, f"{GROUP}/deviceclasses", device_class("gpu", GPU))
        make(client, f"{GROUP}/deviceclasses", device_class("fabric", FABRIC))
        for name in ("n1", "n2"):
            node(client, name)
            make(client, f"{GROUP}/resourceslices", devices(name, GPU, 8))
        late = {
            "bindsToNode": True,
            "bindingConditions": ["Attached"],
            "bindingFailureConditions": ["Broken"],
        }
        make(client, f"{GROUP}/resourceslices", devices("n1", FABRIC, 1, **late))
        yield found


def test_parameters_with_spaces(cluster: SchedulingCluster) -> None:
    """A claim that no JSON request can change gets its devices, and the next pod its reservation."""
    client = cluster.client
    body = '{"metadata": {"name": "spaced"}, "spec": {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}],'
    body += f'"config": [{{"opaque": {{"driver": "gpu.example.com", "parameters": {PARAMETERS}}}}}]}}}}}}'
    make(client, CLAIMS, body)
    for name in ("spaced-1", "spaced-2"):
        pod(client, name, "spaced")
        until(lambda name=name: bool(node_of(client, name)), message(client, name))  # type: ignore[misc]
    status = claim(client, "spaced")["status"]
    (config,) = status["allocation"]["devices"]["config"]
    assert config["opaque"]["parameters"] == {"apiVersion": "gpu.example.com/v1", "text": "<&>", "none": None}
    assert [each["name"] for each in status["reservedFor"]] == ["spaced-1", "spaced-2"]
    for name in ("spaced-1", "spaced-2"):
        client.ask("DELETE", f"{PODS}/{name}", query={"gracePeriodSeconds": "0"})
    until(lambda: "allocation" not in claim(client, "spaced").get("status", {}), "it keeps its devices")


def test_a_pod_on_a_node(cluster: SchedulingCluster) -> None:
    """A pod that was created with a node gets devices there; its claims may come later, or from a template."""
    client = cluster.client
    pod(client, "placed", "later", nodeName="n2")
    until(lambda: "does not exist" in events(client, "placed"), "nobody says what the pod waits for")
    make(client, CLAIMS, {"metadata": {"name": "later"}, "spec": spec("gpu")})
    until(lambda: users(client, "later") == ["placed"], "the claim is not reserved")
    assert {each["pool"] for each in results(client, "later")} == {"n2"}

    make(client, TEMPLATES, {"metadata": {"name": "template"}, "spec": {"spec": spec("gpu")}})
    entry = {"name": "t", "resourceClaimTemplateName": "template"}
    pod(client, "templated", nodeName="n2", resourceClaims=[entry])

    def name() -> str:
        statuses = get(client, "templated")["status"].get("resourceClaimStatuses") or [{}]
        return str(statuses[0].get("resourceClaimName", ""))

    until(lambda: bool(name()) and users(client, name()) == ["templated"], "the claim is not reserved")


def test_a_reservation_that_is_lost(cluster: SchedulingCluster) -> None:
    """What a late undo can do at most: kube-controller-manager reserves the claim again."""
    client = cluster.client
    make(client, CLAIMS, {"metadata": {"name": "lost"}, "spec": spec("gpu")})
    pod(client, "loser", "lost")
    until(lambda: bool(node_of(client, "loser")), message(client, "loser"))
    before = results(client, "lost")
    patch(client, f"{CLAIMS}/lost/status", {"status": {"reservedFor": None}})
    until(lambda: users(client, "lost") == ["loser"], "the claim is not reserved again")
    assert results(client, "lost") == before


def test_a_pod_gets_away_from_a_node(cluster: SchedulingCluster) -> None:
    """Devices of an attempt that failed do not keep a pod on a node that is closed now."""
    client = cluster.client
    make(
        client,
        CLAIMS,
        {
            "metadata": {"name": "stuck", "finalizers": ["resource.kubernetes.io/delete-protection"]},
            "spec": spec("gpu"),
        },
    )
    found = claim(client, "stuck")
    device = {"request": "g", "driver": GPU, "pool": "n1", "device": "d7"}
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    found["status"] = {
        "allocation": {
            "devices": {"results": [device]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        }
    }
    assert client.ask("PUT", f"{CLAIMS}/stuck/status", found).code == 200
    patch(client, "/api/v1/nodes/n1", {"spec": {"unschedulable": True}})
    try:
        pod(client, "moving", "stuck")
        until(lambda: node_of(client, "moving") == "n2", message(client, "moving"))
    finally:
        patch(client, "/api/v1/nodes/n1", {"spec": {"unschedulable": None}})
    assert {each["pool"] for each in results(client, "stuck")} == {"n2"}


def test_binding_conditions(cluster: SchedulingCluster) -> None:
    """A pod waits until its device is attached, and looks for another one if that fails."""
    client = cluster.client
    make(client, CLAIMS, {"metadata": {"name": "fabric"}, "spec": spec("fabric")})
    pod(client, "attaching", "fabric")
    until(lambda: users(client, "fabric") == ["attaching"], message(client, "attaching"))
    until(
        lambda: "waiting for binding conditions: Attached" in message(client, "attaching"), "nobody says so"
    )
    first = claim(client, "fabric")["status"]["allocation"]["allocationTimestamp"]
    condition(client, "Broken")
    until(lambda: "Broken" in message(client, "attaching"), "nobody says that it has failed")

    def is_given_again() -> bool:
        status = claim(client, "fabric").get("status", {})
        given = status.get("allocation", {}).get("allocationTimestamp", first)
        return bool(given != first and not status.get("devices"))

    until(is_given_again, message(client, "attaching"))
    assert node_of(client, "attaching") == ""
    condition(client, "Attached")
    until(lambda: node_of(client, "attaching") == "n1", message(client, "attaching"))
    assert len(claim(client, "fabric")["status"]["devices"]) == 1


def test_conditions_of_a_pod_that_nobody_asks_about(cluster: SchedulingCluster) -> None:
    """Another pod has taken the CPU of the node: kube-scheduler asks about the first one no more, and its device is taken back."""
    client = cluster.client
    client.ask("DELETE", f"{PODS}/attaching", query={"gracePeriodSeconds": "0"})
    until(lambda: "allocation" not in claim(client, "fabric").get("status", {}), "it keeps its devices")
    cluster.leader().restart(scheduling={"bindingTimeoutSeconds": 5})
    cluster.leader()
    room = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "12"}}}]}
    on_n1 = {"kubernetes.io/hostname": "n1"}
    pod(client, "robbed", "fabric", nodeSelector=on_n1, **room)
    until(lambda: users(client, "fabric") == ["robbed"], message(client, "robbed"))
    pod(client, "robber", nodeSelector=on_n1, **room)
    until(lambda: node_of(client, "robber") == "n1", message(client, "robber"))
    until(lambda: "allocation" not in claim(client, "fabric").get("status", {}), message(client, "robbed"))
    until(lambda: "are not met after 5 s" in events(client, "robbed"), events(client, "robbed"))


def device_class(name: str, driver: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
    }


def devices(node_name: str, driver: str, count: int, **device: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": f"{node_name}-{driver}"},
        "spec": {
            "driver": driver,
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"d{index}", **device} for index in range(count)],
        },
    }


def spec(device_class: str) -> dict[str, Any]:
    return {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": device_class}}]}}


def node(client: Client, name: str) -> None:
    capacity = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    status = {
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": ""}],
    }
    make(
        client,
        "/api/v1/nodes",
        {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}, "status": status},
    )
    patch(client, f"/api/v1/nodes/{name}", {"spec": {"taints": None}})


def pod(client: Client, name: str, *claims: str, **more: Any) -> None:
    entries = [{"name": each, "resourceClaimName": each} for each in claims]
    body = {
        "metadata": {"name": name},
        "spec": {
            "schedulerName": SCHEDULER_NAME,
            "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": entries,
            **more,
        },
    }
    make(client, PODS, body)


def condition(client: Client, name: str) -> None:
    """What a driver says about its device."""
    found = {
        "type": name,
        "status": "True",
        "reason": "R",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"driver": FABRIC, "pool": "n1", "device": "d0", "conditions": [found]}
    patch(client, f"{CLAIMS}/fabric/status", {"status": {"devices": [status]}})


def make(client: Client, path: str, body: object) -> None:
    answer = client.ask("POST", path, body)
    assert answer.code == 201, answer.body


def patch(client: Client, path: str, body: object) -> None:
    answer = client.ask("PATCH", path, body, content_type=MERGE)
    assert answer.code == 200, answer.body


def get(client: Client, name: str) -> Any:
    return client.ask("GET", f"{PODS}/{name}").body


def claim(client: Client, name: str) -> Any:
    return client.ask("GET", f"{CLAIMS}/{name}").body


def results(client: Client, name: str) -> list[Any]:
    found: list[Any] = claim(client, name)["status"]["allocation"]["devices"]["results"]
    return found


def users(client: Client, name: str) -> list[str]:
    return [each["name"] for each in claim(client, name).get("status", {}).get("reservedFor", [])]


def node_of(client: Client, name: str) -> str:
    return str(get(client, name)["spec"].get("nodeName", ""))


def message(client: Client, name: str) -> str:
    """What PodScheduled and events say."""
    conditions = get(client, name)["status"].get("conditions", [])
    return " ".join(each.get("message", "") for each in conditions) + events(client, name)


def events(client: Client, name: str) -> str:
    found = client.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events").body["items"]
    return " ".join(each.get("note", "") for each in found if each["regarding"].get("name") == name)
