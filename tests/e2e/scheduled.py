"""Pods put before a real kube-scheduler, many small clusters side by side: what becomes of each.

Clusters keep apart by a label of their nodes, which their pods select: nodes that a pod's spec rules out are never asked for
devices. Nodes are plain objects, so no pod ever runs.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from resourceapi.encoding import encode
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import Node
from tests.e2e.client import Answer, Client

GROUP = "/apis/resource.k8s.io/v1"
NAMESPACE = "ns"
LABEL = "scenario"
#: How long all pods together may take, in seconds.
MAX_SECONDS = 120.0
THREADS = 8

#: What becomes of a pod: bound to a node, turned down by all nodes, or its attempt ended with an error.
BOUND, UNSCHEDULABLE, FAILED, UNKNOWN = "bound", "unschedulable", "error", "unknown"


class Setting(NamedTuple):
    """A cluster of its own: nodes, and objects of v1 in normal form; `claims` are those of the pod."""

    name: str
    nodes: Sequence[Node]
    slices: Sequence[Object]
    holders: Sequence[Object]
    claims: Sequence[Object]
    #: more of the pod's spec
    pod: Mapping[str, Any] = {}
    #: pods that are on the nodes already
    others: Sequence[Object] = ()


class PodOutcome(NamedTuple):
    """What became of a pod: `outcome`, the node if it is bound, else the scheduler's message."""

    outcome: str
    node: str = ""
    message: str = ""


def schedule(
    client: Client, settings: Sequence[Setting], classes: Iterable[DeviceClass]
) -> dict[str, PodOutcome]:
    """What becomes of the pod of each setting, by its name."""
    _make(client, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for each in classes:
        selectors = [{"cel": {"expression": expression}} for expression in each.expressions]
        _make(
            client,
            f"{GROUP}/deviceclasses",
            {"metadata": {"name": each.name}, "spec": {"selectors": selectors}},
        )
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(lambda setting: _prepare(client, setting), settings))
        settle(client)
        list(threads.map(lambda setting: _make(client, _PODS, _pod(setting)), settings))
        return _outcomes(client, [each.name for each in settings])


_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_CLAIMS = f"{GROUP}/namespaces/{NAMESPACE}/resourceclaims"


def _prepare(client: Client, setting: Setting) -> None:
    for node in setting.nodes:
        _node(client, setting.name, node)
    for each in setting.others:
        _make(client, _PODS, each)
    for each in setting.slices:
        _make(client, f"{GROUP}/resourceslices", _encoded("ResourceSlice", each))
    for each in (*setting.holders, *setting.claims):
        made = _encoded("ResourceClaim", each)
        status = made.pop("status", {})
        if status.get("allocation"):
            made["spec"] = _spec_for(each, made)
        _make(client, _CLAIMS, made)
        if status.get("allocation"):
            path = f"{_CLAIMS}/{made['metadata']['name']}/status"
            body = {"status": {"allocation": status["allocation"]}}
            _insist(client.ask("PATCH", path, body, content_type="application/merge-patch+json"), path)


def _spec_for(claim: Object, made: Object) -> Object:
    """What a claim that holds devices asks for."""
    if (made.get("spec") or {}).get("devices", {}).get("requests"):
        return dict(made["spec"])
    count = len(claim["status"]["allocation"]["devices"]["results"])
    asked = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "r", "exactly": asked}]}}


def _node(client: Client, setting: str, node: Node) -> None:
    name = node.name
    labels = {**node.labels, LABEL: setting, "kubernetes.io/hostname": name}
    _make(client, "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
    usual = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    resources = {resource: str(amount) for resource, amount in node.allocatable.items()} or usual
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
    status = {"capacity": resources, "allocatable": resources, "conditions": [ready]}
    for path, body in (
        ("/status", {"status": status}),
        ("", {"spec": {"taints": [each._asdict() for each in node.taints]}}),
    ):
        path = f"/api/v1/nodes/{name}{path}"
        _insist(client.ask("PATCH", path, body, content_type="application/merge-patch+json"), path)


def _pod(setting: Setting) -> Object:
    names = [each["metadata"]["name"] for each in setting.claims]
    spec: Object = {
        "nodeSelector": {LABEL: setting.name},
        "containers": [{"name": "c", "image": "x"}],
        "resourceClaims": [
            {"name": f"c{place}", "resourceClaimName": name} for place, name in enumerate(names)
        ],
        **setting.pod,
    }
    return {"metadata": {"name": setting.name}, "spec": spec}


def settle(client: Client, scheduler: str = "default-scheduler") -> None:
    """Wait until the scheduler knows all: a pod that is made after the rest has been bound. It must go, as it counts for scores."""
    _make(client, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    spec = {"schedulerName": scheduler, "containers": [{"name": "c", "image": "x"}]}
    plain = {"metadata": {"name": "settled"}, "spec": spec}
    _make(client, _PODS, plain)
    until(lambda: bool(client.ask("GET", f"{_PODS}/settled").body["spec"].get("nodeName")))
    client.ask("DELETE", f"{_PODS}/settled", query={"gracePeriodSeconds": "0"})
    until(lambda: client.ask("GET", f"{_PODS}/settled").code == 404)
    # Objects of different kinds come by different watches.
    time.sleep(2)


def until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + MAX_SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError("the scheduler does not come to what is asked of it")
        time.sleep(0.1)


def _outcomes(client: Client, names: Sequence[str]) -> dict[str, PodOutcome]:
    found: dict[str, PodOutcome] = {}

    def all_known() -> bool:
        for pod in client.ask("GET", _PODS).body["items"]:
            found[pod["metadata"]["name"]] = state_of(pod)
        return all(found.get(name, PodOutcome(UNKNOWN)).outcome != UNKNOWN for name in names)

    with contextlib.suppress(TimeoutError):
        until(all_known)
    return {name: found.get(name, PodOutcome(UNKNOWN)) for name in names}


def state_of(pod: Object) -> PodOutcome:
    node = pod["spec"].get("nodeName", "")
    if node:
        return PodOutcome(BOUND, node)
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            outcome = FAILED if condition["reason"] == "SchedulerError" else UNSCHEDULABLE
            return PodOutcome(outcome, "", condition.get("message", ""))
    return PodOutcome(UNKNOWN)


def _encoded(kind: str, obj: Object) -> Object:
    return encode(SCHEMAS["v1"], kind, obj)


def _make(client: Client, path: str, body: Object) -> None:
    answer = client.ask("POST", path, body)
    if answer.code != 409:
        _insist(answer, path)


def _insist(answer: Answer, path: str) -> None:
    if answer.code >= 300:
        raise RuntimeError(f"{path}: {answer.code} {answer.body}")
