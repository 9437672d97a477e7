"""The cases of `tests/claimcheck/data/pod_groups.yaml`, put before a real control plane of 1.37: without the sidecar, and with it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.claimcheck.pod_group_cases import DEVICE_CLASS, Case, Outcome, cases
from tests.e2e.client import Client
from tests.e2e.control_plane import component, control_plane
from tests.e2e.pod_group_setup import FLAG, SERVER, WITH_POD_GROUPS
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, scheduling_cluster

pytestmark = pytest.mark.e2e
_RESOURCES = {
    "DeviceClass": "deviceclasses",
    "Namespace": "namespaces",
    "Node": "nodes",
    "Pod": "pods",
    "PodGroup": "podgroups",
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "ResourceSlice": "resourceslices",
}
#: How long the outcome of a case may take, and how long it has to stay the same, in seconds.
PATIENCE, STEADY = 60.0, 3.0


@pytest.fixture(scope="module")
def built_in() -> dict[str, Outcome]:
    """What kube-scheduler by itself makes of every case."""
    controllers = "--controllers=resourceclaim-controller,podgroup-protection-controller"
    with (
        control_plane("1.37", flags=SERVER) as server,
        component(server, "kube-controller-manager", [FLAG, controllers]),
        component(server, "kube-scheduler", [FLAG]),
    ):
        return _outcomes(server.client, "default-scheduler")


@pytest.fixture(scope="module")
def with_sidecar() -> dict[str, Outcome]:
    """What kube-scheduler makes of them when the sidecar gives out the devices."""
    with scheduling_cluster(replicas=1, **WITH_POD_GROUPS) as cluster:
        return _outcomes(cluster.client, SCHEDULER_NAME)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_built_in(case: Case, built_in: dict[str, Outcome]) -> None:
    """kube-scheduler binds these pods, gives their claims so many devices, and reserves them so."""
    assert case.seen(built_in[str(case)]) in case.by_any_order


@pytest.mark.parametrize("case", cases(), ids=str)
def test_with_sidecar(case: Case, with_sidecar: dict[str, Outcome]) -> None:
    """It does the same with the sidecar, and binds no half gang."""
    assert case.seen(with_sidecar[str(case)]) in case.by_any_order


def _outcomes(client: Client, scheduler: str) -> dict[str, Outcome]:
    """What becomes of every case, all of them at the same time."""
    _make(client, [DEVICE_CLASS])
    for case in cases():
        _make(client, case.cluster())
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(lambda case: _outcome(client, case, scheduler), cases())
        return {str(case): outcome for case, outcome in zip(cases(), found, strict=True)}


def _make(client: Client, objects: Iterable[Object]) -> None:
    for each in objects:
        kind, metadata = each["kind"], each["metadata"]
        root = f"/apis/{each['apiVersion']}" if "/" in each["apiVersion"] else f"/api/{each['apiVersion']}"
        where = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
        path = f"{root}{where}/{_RESOURCES[kind]}"
        _insist(client, "POST", path, each)
        if kind == "Node":
            ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
            status = {"conditions": [ready], "capacity": each["status"]["allocatable"], **each["status"]}
            _insist(client, "PATCH", f"{path}/{metadata['name']}/status", {"status": status})
            _insist(client, "PATCH", f"{path}/{metadata['name']}", {"spec": {"taints": None}})


def _insist(client: Client, verb: str, path: str, body: Object) -> None:
    kind = "application/merge-patch+json" if verb == "PATCH" else "application/json"
    answer = client.ask(verb, path, body, content_type=kind)
    assert answer.code < 300, (path, answer.body)


def _outcome(client: Client, case: Case, scheduler: str) -> Outcome:
    """The outcome as soon as it is an expected one for a while, or at last the one that there is."""
    _make(client, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": case.namespace}}])
    _make(client, (_scheduled_by(each, scheduler) for each in case.objects()))
    deadline = time.monotonic() + PATIENCE
    since = 0.0
    while True:
        found = _read(client, case.namespace)
        if case.seen(found) not in case.by_any_order:
            since = 0.0
        elif since == 0.0:
            since = time.monotonic()
        if (since and time.monotonic() > since + STEADY) or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def _scheduled_by(obj: Object, scheduler: str) -> Object:
    return obj if obj["kind"] != "Pod" else {**obj, "spec": {**obj["spec"], "schedulerName": scheduler}}


def _read(client: Client, namespace: str) -> Outcome:
    bound: dict[str, int] = {}
    says: dict[str, str] = {}
    for pod in client.ask("GET", f"/api/v1/namespaces/{namespace}/pods").body["items"]:
        name = pod["metadata"]["name"].rpartition("-")[0]
        if pod["spec"].get("nodeName"):
            bound[name] = bound.get(name, 0) + 1
        for condition in pod["status"].get("conditions") or ():
            says[pod["metadata"]["name"]] = condition.get("message", "")
    path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims"
    claims = [Claim(each) for each in client.ask("GET", path).body["items"]]
    return Outcome(bound, dict(map(_got, (each for each in claims if each.is_allocated))), says)


def _got(claim: Claim) -> tuple[str, dict[str, Any]]:
    """An allocated claim as in the cases."""
    name = f"{claim.owners[0].name}/{claim.entry}" if claim.owners else claim.name
    users = sorted(f"{each.resource} {each.name}" for each in claim.consumers)
    return name, {"devices": len(claim.results), "for": users}
