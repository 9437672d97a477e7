"""Each metric counts what it is about: the sidecar as it is put together, with an API server in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import Any, cast

import pytest

from cluster.group_snapshots import InResults
from cluster.leading import Leadership
from resourceapi.objects import Object
from scheduler import assembly
from scheduler.application import Deadline
from scheduler.claim_creation import LATE_SECONDS
from scheduler.config import load_config
from scheduler.metrics import Metrics
from scheduler.routes import make_routes
from scheduler.server_check import ServerCheck
from serving.routes import Caller, Waiting
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.small_cluster import CLAIMS, PODS, Leader, claim, cluster, pod, v1


class _Server(InResults):
    """An API server that is as configured."""

    def run(self, ending: Event) -> None:
        pass

    def first(self, run: object) -> object:
        return run


class _Leads(Leader):
    @property
    def is_leading(self) -> bool:
        return self.leads


class _Sidecar(assembly.Sidecar):
    """All parts, whose work in the background is done when a test says so."""

    @cached_property
    def _server(self) -> ServerCheck:
        return cast(ServerCheck, _Server())

    @cached_property
    def _leadership(self) -> Leadership:
        return cast(Leadership, _Leads())


class Scene:
    """One replica, and what it counts."""

    def __init__(self, api: FakeApi, config: Path) -> None:
        self.api = api
        self.metrics = Metrics()
        self.sidecar = _Sidecar(load_config(str(config)), self.metrics)
        routes = make_routes(self.sidecar.verbs, self.metrics, 2**20)
        self._routes = {each.name: each for each in routes}
        self.sync()

    def sync(self) -> None:
        for source in self.sidecar._picture.sources():
            version, _, resource = source.path.rpartition("/")
            source.collection.replace(self.api.all(resource, version))

    def ask(self, verb: str, body: Object) -> Any:
        """What kube-scheduler is answered."""
        route = self._routes[verb]
        answer = route.handler(route.decode(json.dumps(body).encode()), Caller("", Deadline(60.0), 0))
        return answer.finish() if isinstance(answer, Waiting) else answer

    def filter(self, name: str) -> Any:
        self.sidecar._decisions._in_flight.clear()
        return self.ask("filter", {"Pod": self.api.get(f"{PODS}/{name}"), "NodeNames": ["n1"]})

    def bind(self, name: str) -> Any:
        request = {"PodNamespace": "ns", "PodName": name, "PodUID": f"uid-{name}", "Node": "n1"}
        return self.ask("bind", request)

    def value(self, name: str, **labels: str) -> float:
        """What a metric says; 0 where it says nothing."""
        self.sidecar.show_metrics()
        return self.metrics.registry.get_sample_value(f"claimcheck_scheduler_{name}", labels) or 0.0


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scene]:
    config = tmp_path / "schedule.yaml"
    config.write_text(
        "tls: {directory: /nowhere}\nleaderElection: {namespace: ns, identity: me}\n"
        "apiServer: {featureGates: {DRADeviceBindingConditions: false}}\n"
    )

    def make(*objects: Object, **more: Any) -> Scene:
        api = cluster(*objects, **more)
        monkeypatch.setattr(assembly, "make_client", lambda config: api)
        monkeypatch.setattr(assembly, "ExactClient", lambda client: client)
        return Scene(api, config)

    return make


def with_alternatives(name: str) -> Object:
    """A claim whose first alternative is not to be had."""
    alternatives = [{"name": each, "deviceClassName": each} for each in ("none", "gpu")]
    request = {"name": "g", "firstAvailable": alternatives}
    return v1("ResourceClaim", name, spec={"devices": {"requests": [request]}})


def test_devices_by_driver_class_and_alternative(scene: Callable[..., Scene]) -> None:
    none = v1(
        "DeviceClass",
        "none",
        spec={"selectors": [{"cel": {"expression": "device.driver == 'none.example.com'"}}]},
    )
    made = scene(claim("a", 2), with_alternatives("b"), none, pod("p", "a", "b"), count=3)
    assert made.filter("p")["NodeNames"] == ["n1"]
    assert made.bind("p")["Error"] == ""
    devices = {"driver": "gpu.example.com", "device_class": "gpu"}
    assert made.value("allocated_devices_total", **devices, alternative="") == 2
    assert made.value("allocated_devices_total", **devices, alternative="1") == 1
    assert made.value("allocated_claims_total") == 2


def test_answers_by_verb_and_result(scene: Callable[..., Scene]) -> None:
    made = scene(claim("a"), claim("many", 9), pod("p", "a"), pod("q", "many"))
    made.filter("p")
    made.ask("prioritize", {"Pod": made.api.get(f"{PODS}/p"), "NodeNames": ["n1"]})
    made.bind("p")
    made.filter("q")
    made.bind("q")
    victims: Object = {"Pods": [{"UID": "uid-p"}], "NumPDBViolations": 0}
    for name in ("p", "q"):
        body = {"Pod": made.api.get(f"{PODS}/{name}"), "NodeNameToMetaVictims": {"n1": victims}}
        made.ask("preempt", body)
    counted = {
        (verb, result): made.value("attempts_total", verb=verb, result=result)
        for verb in ("filter", "prioritize", "bind", "preempt")
        for result in ("fits", "refused", "scored", "bound", "failed")
    }
    assert {key: value for key, value in counted.items() if value} == {
        ("filter", "fits"): 1,
        ("filter", "refused"): 1,
        ("prioritize", "scored"): 1,
        ("bind", "bound"): 1,
        ("bind", "failed"): 1,
        ("preempt", "fits"): 1,
        ("preempt", "refused"): 1,
    }


def test_searches(scene: Callable[..., Scene]) -> None:
    """The second pod of the same kind finds what is known already."""
    made = scene(claim("a"), claim("b"), pod("p", "a"), pod("q", "b"))
    made.filter("p")
    assert made.value("searches_total", cached="false") == 1
    made.filter("q")
    assert made.value("searches_total", cached="false") == 1
    assert made.value("searches_total", cached="true") == 1


def test_pods_that_wait_and_wake_ups(scene: Callable[..., Scene]) -> None:
    made = scene(claim("many", 9), pod("p", "many"))
    assert made.value("pending_pods") == 0
    made.filter("p")
    assert made.value("pending_pods") == 1
    made.sidecar._waking.look()
    assert made.value("wake_ups_total") == 1
    made.api.change(f"{PODS}/p", {"spec": {"nodeName": "n1"}})
    made.sync()
    assert made.value("pending_pods") == 0


def test_allocations_that_are_being_written(scene: Callable[..., Scene]) -> None:
    made = scene(claim("a"), pod("p", "a"))
    seen: list[float] = []
    made.api.hooks.append(lambda request: seen.append(made.value("assumed_allocations")))
    made.filter("p")
    made.bind("p")
    assert seen == [1, 1, 0]
    assert made.value("assumed_allocations") == 0


def test_who_leads(scene: Callable[..., Scene]) -> None:
    made = scene()
    assert made.value("leads") == 1
    cast(_Leads, made.sidecar._leadership).leads = False
    assert made.value("leads") == 0


def test_claims_that_memory_has_otherwise(scene: Callable[..., Scene]) -> None:
    made = scene(claim("a"), claim("b"))
    check = made.sidecar._check
    check._lag_seconds, check._relist = 0.0, lambda seconds: None
    check.check(Event())
    assert made.value("drifted_claims_total") == 0
    made.api.change(f"{CLAIMS}/a", {"metadata": {"labels": {"a": "b"}}})
    made.api.remove(f"{CLAIMS}/b")
    check.check(Event())
    assert made.value("drifted_claims_total") == 2


def test_pods_whose_claims_are_not_created(scene: Callable[..., Scene]) -> None:
    made = scene(pod("p", resourceClaims=[{"name": "t", "resourceClaimTemplateName": "t"}]))
    creation, now = made.sidecar._creation, 0.0
    creation._clock = lambda: now
    creation.look()
    assert made.value("pods_without_claims") == 0
    now = LATE_SECONDS
    creation.look()
    assert made.value("pods_without_claims") == 1


def test_every_metric_of_the_scheduler_is_tested() -> None:
    """One that is added needs a test here; those of every server are tested there."""
    source = Path(__file__).read_text("utf-8")
    of_server = {each.name for each in _families(Metrics.__mro__[1])}
    for family in Metrics().registry.collect():
        name = family.name.removeprefix("claimcheck_scheduler_")
        assert family.name in of_server or f'"{name}' in source, family.name


def _families(server: Any) -> list[Any]:
    return list(server("claimcheck_scheduler", "verb").registry.collect())
