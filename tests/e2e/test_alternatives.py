"""The stories of KEP-4816 in a whole cluster: pods get the best alternative that is left, on whichever node it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from resourceapi.objects import Object
from tests.allocator.objects import alternative, first_of
from tests.e2e.client import Client
from tests.e2e.fleet import GROUP, post
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SchedulingCluster, scheduling_cluster, until

DRIVER = "gpu.example.com"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
MODELS = ("latest", "older", "oldest")
#: GPUs of nodes by model. Other scores prefer the nodes with older ones, where more CPU is free.
NODES = {"n1": ["oldest", "oldest"], "n2": ["older"], "n3": ["latest", "oldest"]}
CPUS = {"n1": "64", "n2": "8", "n3": "2"}


@pytest.fixture(scope="module", params=["FirstFit", "BestFit"])
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    """A cluster in which a template asks for the latest model, else one older, else two of the oldest."""
    config = {"scheduling": {"objective": request.param}}
    with scheduling_cluster(replicas=1, config=config) as cluster:
        _prepare(cluster)
        yield cluster.client


def _prepare(cluster: SchedulingCluster) -> None:
    client = cluster.client
    for model in MODELS:
        selector = {"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{model}'"}}
        post(client, f"{GROUP}/deviceclasses", _named(model, {"selectors": [selector]}))
    for name, models in NODES.items():
        resources = {"cpu": CPUS[name], "memory": "8Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
        status = {"capacity": resources, "allocatable": resources, "conditions": [ready]}
        post(client, "/api/v1/nodes", {"metadata": {"name": name}, "status": status})
        merge = "application/merge-patch+json"
        client.ask("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, content_type=merge)
        devices = [
            {"name": f"gpu-{place}", "attributes": {"model": {"string": model}}}
            for place, model in enumerate(models)
        ]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        post(client, f"{GROUP}/resourceslices", _named(name, spec))
    request = first_of(
        "gpu",
        alternative("latest", device_class="latest"),
        alternative("older", device_class="older"),
        alternative("two", 2, device_class="oldest"),
    )
    spec = {"spec": {"devices": {"requests": [request]}}}
    post(client, f"{GROUP}/namespaces/default/resourceclaimtemplates", _named("any", spec))


def test_stories(client: Client) -> None:
    """One pod after the other gets what is best by then; the fourth waits until one of them ends."""
    expected = [("n3", ["gpu/latest"]), ("n2", ["gpu/older"]), ("n1", ["gpu/two", "gpu/two"])]
    for number, (node, requests) in enumerate(expected):
        _pod(client, f"p{number}", {"resourceClaimTemplateName": "any"})
        assert _placed(client, f"p{number}") == (node, requests)
    _pod(client, "p3", {"resourceClaimTemplateName": "any"})
    until(lambda: bool(_message(client, "p3")), "nobody says why it waits")
    client.ask("DELETE", f"{PODS}/p1", query={"gracePeriodSeconds": "0"})
    assert _placed(client, "p3") == ("n2", ["gpu/older"])


def test_shared_claim(client: Client) -> None:
    """Further pods of a claim go where its devices are, whatever alternative that is."""
    request = first_of(
        "gpu", alternative("none", 2, device_class="latest"), alternative("one", device_class="oldest")
    )
    spec = {"devices": {"requests": [request]}}
    post(client, CLAIMS, _named("shared", spec))
    for name in ("first", "second"):
        _pod(client, name, {"resourceClaimName": "shared"})
        assert _placed(client, name) == ("n3", ["gpu/one"])


def _named(name: str, spec: Object) -> Object:
    return {"metadata": {"name": name}, "spec": spec}


def _pod(client: Client, name: str, source: Object) -> None:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "500m"}}}
    claims = [{"name": "gpu", **source}]
    spec = {"schedulerName": SCHEDULER_NAME, "containers": [container], "resourceClaims": claims}
    post(client, PODS, _named(name, spec))


def _placed(client: Client, name: str) -> tuple[str, list[str]]:
    """The node of a pod once it has one, and which requests its devices are for."""
    until(lambda: bool(_node(client, name)), f"{name} has no node")
    pod = client.ask("GET", f"{PODS}/{name}").body
    generated = {
        each["name"]: each["resourceClaimName"] for each in pod["status"].get("resourceClaimStatuses", [])
    }
    (entry,) = pod["spec"]["resourceClaims"]
    claim = client.ask("GET", f"{CLAIMS}/{generated.get('gpu') or entry['resourceClaimName']}").body
    results = claim["status"]["allocation"]["devices"]["results"]
    assert all(each["pool"] == pod["spec"]["nodeName"] for each in results)
    return pod["spec"]["nodeName"], [each["request"] for each in results]


def _node(client: Client, name: str) -> str:
    return str(client.ask("GET", f"{PODS}/{name}").body["spec"].get("nodeName", ""))


def _message(client: Client, name: str) -> str:
    conditions = client.ask("GET", f"{PODS}/{name}").body["status"].get("conditions", [])
    return str(next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), ""))
