"""The parts work together as they are put together: from a configuration, on an API server in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from cluster import event_writer
from cluster.leading import RELEASED_SECONDS, NotLeading
from manifests.kustomize import DIRECTORY, render_value
from resourceapi.objects import Object
from resourceapi.releases import Profile
from scheduler import assembly, leader_setup, refusal_events, releasing, server_check, waking
from scheduler.cluster_picture import ClusterPicture
from scheduler.config import load_config
from scheduler.extender_api import BindingRequest, CandidateNodes, PreemptionRequest
from scheduler.metrics import Metrics
from scheduler.server_check import ConnectedServer
from tests.cluster.test_leading import until
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Request
from tests.scheduler.fake_places import CORE, Place
from tests.scheduler.small_cluster import (
    CLAIMS,
    PODS,
    claim,
    cluster,
    devices_of,
    gpus,
    node,
    node_of,
    pod,
    v1,
)
from tests.webhook.rights import Right, granted

NAMESPACE = "claimcheck-system"
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "WATCH": "watch", "DELETE": "delete"}
_MANIFESTS = render_value({"kind": "Kustomization", "resources": ["scheduler"]}, DIRECTORY / "overlays")
#: What the sidecar's roles allow.
RIGHTS = granted(_MANIFESTS, (NAMESPACE, "claimcheck-scheduler"))
#: What comes empty with the manifests, since the sidecar may create none.
ENDPOINTS = [each for each in _MANIFESTS if each["kind"] == "EndpointSlice"]
#: The Lease, which nobody holds.
RELEASED = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"namespace": NAMESPACE, "name": "claimcheck-scheduler"},
    "spec": {"holderIdentity": "", "leaseDurationSeconds": RELEASED_SECONDS},
}
#: Longer than anything takes that is waited for.
PATIENCE = 30.0


class Process:
    """A sidecar as its worker process has it."""

    def __init__(self, api: FakeApi, directory: Path, **scheduling: Any) -> None:
        self.api = api
        file = directory / "schedule.yaml"
        tls = {"certificateFile": "tls.crt", "keyFile": "tls.key"}
        elects = {"namespace": NAMESPACE, "service": "claimcheck-scheduler", "leaseSeconds": 60}
        file.write_text(json.dumps({"tls": tls, "leaderElection": elects, "scheduling": scheduling}))
        self.metrics = Metrics()
        self.sidecar = assembly.Sidecar(load_config(str(file)), self.metrics)
        self.verbs = self.sidecar.verbs

    def asked(self, name: str, *nodes: str) -> CandidateNodes:
        return CandidateNodes(self.api.get(f"{PODS}/{name}"), nodes)

    def bind(self, name: str, node_name: str) -> str:
        return self.verbs.binder.bind(BindingRequest("ns", name, f"uid-{name}", node_name))

    def has_woken_pods(self) -> bool:
        return bool(self.metrics.registry.get_sample_value("claimcheck_scheduler_wake_ups_total"))

    @contextmanager
    def until(self, matching: Callable[[Request], bool]) -> Iterator[None]:
        """Do something, and wait until a request has come because of it."""
        come = Event()

        def hook(request: Request) -> None:
            if matching(request):
                come.set()

        self.api.hooks.append(hook)
        yield
        assert come.wait(PATIENCE)
        self.api.hooks.remove(hook)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Process]]:
    """Makes a sidecar, with all that it does in the background, on an API server; it asks for no more than its roles allow."""
    monkeypatch.setenv("POD_IP", "10.0.0.1")
    for module, name in (
        (waking, "PAUSE_SECONDS"),
        (refusal_events, "QUIET_SECONDS"),
        (refusal_events, "TICK_SECONDS"),
        (releasing, "PAUSE_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 0.01)
    monkeypatch.setattr(event_writer, "WRITES_PER_SECOND", 100)
    known = ConnectedServer(minor=37, custom_resources=False, gates={}, fields=(True, True))
    monkeypatch.setattr(server_check, "ask", lambda client: known)
    ending = Event()
    started: list[Process] = []

    def begin(api: FakeApi, **scheduling: Any) -> Process:
        for module in (assembly, leader_setup):
            monkeypatch.setattr(module, "make_client", lambda config, timeout=0.0: api.client())
        for obj in (RELEASED, *ENDPOINTS):
            api.add(obj)
        process = Process(api, tmp_path, **scheduling)
        started.append(process)
        for run in process.sidecar.background:
            Thread(target=run, args=(ending,), daemon=True).start()
        until(process.has_woken_pods)  # the first leader wakes whomever another one may have refused
        assert all(is_so() for is_so in process.sidecar.checks.values())
        return process

    yield begin
    ending.set()
    for each in started:
        each.sidecar.stop()
        each.api.end_watches()
        assert not rights_of_requests(each.api) - RIGHTS


def rights_of_requests(api: FakeApi) -> set[Right]:
    """What has to be allowed for what has been asked, each as far as a role may limit it by one that there is."""
    return {_right_of(request) for request in list(api.requests)}


def group_of(place: Place) -> str:
    return "" if place.version == CORE else place.version.split("/")[2]


def _right_of(request: Request) -> Right:
    place = Place.of(request.path)
    resource = f"{place.resource}/{place.subresource}" if place.subresource else place.resource
    verb = VERBS.get(request.verb) or ("get" if place.name else "list")
    limits = [(namespace, name) for namespace in (place.namespace, "") for name in (place.name, "")]
    rights = [(group_of(place), resource, verb, *limit) for limit in limits]
    return next((each for each in rights if each in RIGHTS), rights[0])


def is_wake_up(request: Request) -> bool:
    return request.verb in ("POST", "PATCH") and f"/namespaces/{NAMESPACE}/resourceclaims" in request.path


def with_alternatives(name: str) -> Object:
    """A claim for a device of class `best`, else for one of class `gpu`."""
    classes = [{"name": each, "deviceClassName": each} for each in ("best", "gpu")]
    return claim(name) | {"spec": {"devices": {"requests": [{"name": "g", "firstAvailable": classes}]}}}


def cluster_with_alternatives() -> FakeApi:
    """On `n1` there is only what is second best."""
    best = v1("DeviceClass", "best", spec={"selectors": [{"cel": {"expression": "has(device.attributes['gpu.example.com'].best)"}}]})  # fmt: skip
    better = [node("n2"), gpus("n2", 1, attributes={"best": {"bool": True}})]
    return cluster(best, *better, with_alternatives("c"), pod("p", "c"), count=1)


def test_pod_gets_devices_and_a_node(start: Callable[..., Process]) -> None:
    """From filter to bind; the metrics count its claim."""
    process = start(cluster_with_alternatives())
    asked = process.asked("p", "n1", "n2")
    assert list(process.verbs.filter.answer(asked).fitting) == ["n1", "n2"]
    assert process.verbs.prioritize(asked) == {"n1": 0, "n2": 10}
    assert process.bind("p", "n2") == ""
    assert node_of(process.api, "p") == "n2"
    assert devices_of(process.api.get(f"{CLAIMS}/c")) == ["n2/gpu-0"]
    assert process.metrics.registry.get_sample_value("claimcheck_scheduler_allocated_claims_total") == 1


SETTINGS: dict[str, tuple[dict[str, str], dict[str, int], dict[str, int]]] = {
    "KEP": ({}, {"n1": 0, "n2": 10}, {"n1": 0}),
    "Upstream": ({"scoring": "Upstream"}, {"n1": 9, "n2": 10}, {"n1": 10}),
    "BestFit": ({"objective": "BestFit"}, {"n1": 0, "n2": 10}, {"n1": 10}),
}


@pytest.mark.parametrize(("settings", "both", "one"), SETTINGS.values(), ids=SETTINGS)
def test_scores_are_as_configured(
    start: Callable[..., Process], settings: dict[str, str], both: dict[str, int], one: dict[str, int]
) -> None:
    """A node that is the only one in question gets what the formula gives to equal ones."""
    process = start(cluster_with_alternatives(), **settings)
    process.verbs.filter.answer(process.asked("p", "n1", "n2"))
    assert process.verbs.prioritize(process.asked("p", "n1", "n2")) == both
    assert process.verbs.prioritize(process.asked("p", "n1")) == one


def test_refused_pod_is_told_and_woken(start: Callable[..., Process]) -> None:
    """By an event of its own, and once it could fit."""
    process = start(cluster(claim("c", count=3), pod("p", "c")))
    with process.until(lambda request: request.verb == "POST" and request.path.endswith("/ns/events")):
        assert not process.verbs.filter.answer(process.asked("p", "n1")).fitting
    with process.until(is_wake_up):
        process.api.add(node("n2"))
        process.api.add(gpus("n2", 3))


def test_refused_pod_lets_go_of_devices(start: Callable[..., Process]) -> None:
    """Of those on a node on which it cannot be any more."""
    process = start(cluster(claim("c"), pod("p", "c"), nodes=("n1", "n2")))
    process.verbs.filter.answer(process.asked("p", "n1"))
    process.api.fail(1, 503, lambda request: request.path.endswith("/binding"))
    assert "503" in process.bind("p", "n1")
    assert devices_of(process.api.get(f"{CLAIMS}/c")) == ["n1/gpu-0"]

    def is_release(request: Request) -> bool:
        finalizers = isinstance(request.body, dict) and request.body.get("metadata", {}).get("finalizers", ())
        return request.path == f"{CLAIMS}/c" and finalizers is None

    with process.until(is_release):
        assert not process.verbs.filter.answer(process.asked("p", "n2")).fitting


def test_who_does_not_lead_decides_nothing(start: Callable[..., Process]) -> None:
    """And what it decided before is dropped."""
    process = start(cluster_with_alternatives())
    asked = process.asked("p", "n1", "n2")
    process.verbs.filter.answer(asked)
    process.sidecar.stop()
    assert set(process.verbs.prioritize(asked).values()) == {0}
    assert not process.sidecar.checks["leader"]()
    with pytest.raises(NotLeading):
        process.verbs.filter.answer(asked)
    with pytest.raises(NotLeading):
        process.verbs.preempt(PreemptionRequest(asked.pod, {}))
    assert process.bind("p", "n1") == "another replica leads"


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_may_follow_what_the_picture_is_made_of(verb: str) -> None:
    """In all namespaces."""
    for source in ClusterPicture(Profile("1.37", {})).sources():
        place = Place.of(source.path)
        assert (group_of(place), place.resource, verb, "", "") in RIGHTS
