"""Pods that were refused are bound within a second once they could be, with a real kube-scheduler."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from resourceapi.objects import Object
from tests.e2e.client import Client
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SchedulingCluster, scheduling_cluster, until

pytestmark = pytest.mark.e2e

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
MERGE = "application/merge-patch+json"
DRIVER = "gpu.example.com"
#: What a change is given to wake a pod, in seconds, and how many times that is tried: others use the machine, too.
MAX_SECONDS, TRIES = 1.0, 3


class Waker:
    """A cluster with one node; each device has a model of its own, so that tests keep apart."""

    def __init__(self, cluster: SchedulingCluster) -> None:
        self.client: Client = cluster.client
        self._numbers = count()
        self._insist("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}})
        resources = {"cpu": "64", "memory": "64Gi", "pods": "110"}
        ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
        status = {"capacity": resources, "allocatable": resources, "conditions": [ready]}
        self.merge("/api/v1/nodes/n1/status", {"status": status})
        self.merge("/api/v1/nodes/n1", {"spec": {"taints": None}})
        self._insist("POST", f"{GROUP}/deviceclasses", {"metadata": {"name": "gpu"}, "spec": {}})

    def new_model(self) -> str:
        return f"model-{next(self._numbers)}"

    def slice(self, model: str) -> None:
        """A device of a model on the node."""
        device = {"name": "gpu-0", "attributes": {"model": {"string": model}}}
        pool = {"name": model, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": [device]}
        self._insist("POST", f"{GROUP}/resourceslices", {"metadata": {"name": model}, "spec": spec})

    def pod(self, name: str, model: str, *, exists: bool = True) -> None:
        """A pod with a claim of its name for a device of a model."""
        if exists:
            self.claim(name, model)
        spec = {
            "schedulerName": SCHEDULER_NAME,
            "terminationGracePeriodSeconds": 0,
            "resourceClaims": [{"name": "g", "resourceClaimName": name}],
            "containers": [{"name": "c", "image": "x", "resources": {"claims": [{"name": "g"}]}}],
        }
        self._insist("POST", PODS, {"metadata": {"name": name}, "spec": spec})

    def claim(self, name: str, model: str) -> None:
        selector = {"cel": {"expression": f'device.attributes["{DRIVER}"].?model.orValue("") == "{model}"'}}
        request = {"name": "g", "exactly": {"deviceClassName": "gpu", "selectors": [selector]}}
        self._insist(
            "POST", CLAIMS, {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}
        )

    def node_of(self, name: str) -> str:
        return str(self.client.ask("GET", f"{PODS}/{name}").body.get("spec", {}).get("nodeName", ""))

    def is_refused(self, name: str) -> bool:
        conditions = self.client.ask("GET", f"{PODS}/{name}").body.get("status", {}).get("conditions", [])
        return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)

    def rest(self, name: str) -> None:
        """Wait until a pod is refused, and nothing more comes of that by itself."""
        until(lambda: self.is_refused(name), f"{name} is not refused")
        quiet = (
            time.monotonic() + 2.5
        )  # longer than any back-off, or kube-scheduler's own events about the pod
        until(lambda: time.monotonic() > quiet, "")
        assert not self.node_of(name)

    def seconds_until_bound(self, name: str) -> float:
        start = time.monotonic()
        while not self.node_of(name):
            if time.monotonic() > start + 60:
                raise AssertionError(f"{name} is not bound")
            time.sleep(0.01)
        return time.monotonic() - start

    def delete(self, path: str) -> None:
        self._insist("DELETE", path, None)

    def create(self, path: str, body: Object) -> None:
        self._insist("POST", path, body)

    def merge(self, path: str, patch: Any) -> None:
        answer = self.client.ask("PATCH", path, patch, content_type=MERGE)
        assert answer.code == 200, answer

    def _insist(self, verb: str, path: str, body: Object | None) -> None:
        answer = self.client.ask(verb, path, body)
        assert answer.code in (200, 201, 202), answer


@pytest.fixture(scope="module")
def waker() -> Iterator[Waker]:
    with scheduling_cluster(replicas=1) as cluster:
        yield Waker(cluster)


def _quickest(seconds: Iterator[float]) -> float:
    """The first that is quick enough, or the last."""
    for _ in range(TRIES):
        found = next(seconds)
        print(f"bound after {found:.3f} s")
        if found < MAX_SECONDS:
            break
    return found


def test_new_slice(waker: Waker) -> None:
    def tries() -> Iterator[float]:
        while True:
            model = waker.new_model()
            waker.pod(model, model)
            waker.rest(model)
            waker.slice(model)
            yield waker.seconds_until_bound(model)

    assert _quickest(tries()) < MAX_SECONDS


def test_claim_that_is_released(waker: Waker) -> None:
    def tries() -> Iterator[float]:
        while True:
            model = waker.new_model()
            waker.slice(model)
            holder, waiting = f"{model}-holder", f"{model}-waiting"
            waker.pod(holder, model)
            waker.seconds_until_bound(holder)
            waker.pod(waiting, model)
            waker.rest(waiting)
            waker.delete(f"{PODS}/{holder}")
            yield waker.seconds_until_bound(waiting)

    assert _quickest(tries()) < MAX_SECONDS


def test_claim_that_is_made(waker: Waker) -> None:
    def tries() -> Iterator[float]:
        while True:
            model = waker.new_model()
            waker.slice(model)
            waker.pod(model, model, exists=False)
            quiet = time.monotonic() + 2.5
            until(lambda: time.monotonic() > quiet, "")  # noqa: B023 - used up at once
            waker.claim(model, model)
            yield waker.seconds_until_bound(model)

    assert _quickest(tries()) < MAX_SECONDS


def test_taint_rule_that_is_deleted(waker: Waker) -> None:
    rules = f"{GROUP}/devicetaintrules"

    def tries() -> Iterator[float]:
        while True:
            model = waker.new_model()
            spec = {
                "deviceSelector": {"driver": DRIVER, "pool": model},
                "taint": {"key": "example.com/broken", "effect": "NoSchedule"},
            }
            waker.create(rules, {"metadata": {"name": model}, "spec": spec})
            waker.slice(model)
            waker.pod(model, model)
            waker.rest(model)
            waker.delete(f"{rules}/{model}")
            yield waker.seconds_until_bound(model)

    assert _quickest(tries()) < MAX_SECONDS


def test_user_is_told_why_a_pod_waits(waker: Waker) -> None:
    """By kube-scheduler in the condition, and by the sidecar in one event with what would help."""
    model = waker.new_model()
    waker.slice(model)
    waker.pod(f"{model}-holder", model)
    waker.seconds_until_bound(f"{model}-holder")
    waker.pod(model, model)

    def notes() -> list[str]:
        events = waker.client.ask("GET", EVENTS).body["items"]
        return [
            each["note"]
            for each in events
            if each["regarding"]["name"] == model and each["reportingController"] == "claimcheck-scheduler"
        ]

    until(lambda: bool(notes()), "no event")
    (note,) = notes()
    assert f"it would fit if pod default/{model}-holder ended" in note


def test_pod_that_asks_by_an_extended_resource(waker: Waker) -> None:
    """kube-scheduler lets it pass, since a DeviceClass stands for the resource; it is bound when there is a device for it."""
    name = waker.new_model()
    selector = {"cel": {"expression": f'device.attributes["{DRIVER}"].?model.orValue("") == "{name}"'}}
    spec = {"extendedResourceName": "example.com/gpu", "selectors": [selector]}
    waker.create(f"{GROUP}/deviceclasses", {"metadata": {"name": "extended"}, "spec": spec})
    limits = {"limits": {"example.com/gpu": "1"}}
    containers = [{"name": "c", "image": "x", "resources": limits}]
    pod = {"metadata": {"name": name}, "spec": {"schedulerName": SCHEDULER_NAME, "containers": containers}}
    waker.create(PODS, pod)
    waker.rest(name)
    waker.slice(name)
    assert waker.seconds_until_bound(name) < 60
    assert waker.client.ask("GET", f"{PODS}/{name}").body["status"]["extendedResourceClaimStatus"]
