"""The scenarios of `claimcheck classic-simulate` on the real kube-scheduler 1.30: the same writes, as many attempts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from classic.simulation.api_server import CLAIM, CLASS, POD, TEMPLATE
from classic.simulation.devices import DriverSettings
from classic.simulation.scenario import CLAIM_DEALLOCATED, NODE_FILLED, SLOW_DRIVER, Scenario
from resourceapi.manifests import text
from resourceapi.objects import Object
from tests.classic.simulation.sequences import by_actor, expectations, recorded, scenario_named
from tests.e2e.classic_cluster import GROUP, ClassicCluster, classic_cluster, until
from tests.e2e.classic_driver_thread import HaltingDriver, serving

CONSUMER = "device-consumer"
#: Long enough for what has to happen before the next attempt.
_CONFIG = {"podInitialBackoffSeconds": 3, "podMaxBackoffSeconds": 3}
_ATTEMPTS, _SCHEDULED = "scheduler_pod_scheduling_attempts", "scheduler_schedule_attempts_total"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ClassicCluster]:
    """Nodes as in the scenarios."""
    with classic_cluster(3, scheduler_config=_CONFIG) as cluster:
        yield cluster


class Run:
    """A scenario in a namespace of its own."""

    def __init__(self, cluster: ClassicCluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        self.scenario: Scenario = scenario_named(name)
        self._pods = f"/api/v1/namespaces/{name}/pods"
        self._attempted = cluster.metric(_SCHEDULED)
        self.mark()

    def mark(self) -> None:
        """Note how many pods have been bound, and in how many attempts, before the next one."""
        self._bound = self.cluster.metric(f"{_ATTEMPTS}_count")
        self._attempts = self.cluster.metric(f"{_ATTEMPTS}_sum")

    def attempts(self) -> float:
        """In how many attempts the one pod that was to be bound since then has been bound, when it is."""
        until(lambda: self.cluster.metric(f"{_ATTEMPTS}_count") > self._bound, "no pod is counted")
        assert self.cluster.metric(f"{_ATTEMPTS}_count") - self._bound == 1
        return self.cluster.metric(f"{_ATTEMPTS}_sum") - self._attempts

    def begin(self) -> None:
        """Make what the scenario begins with."""
        client = self.cluster.client
        self.cluster.make("/api/v1/namespaces", {"metadata": {"name": self.name}})
        for each in self.scenario.of_kind(CLASS):
            if client.ask("GET", f"{GROUP}/resourceclasses/{each['metadata']['name']}").code == 404:
                self.cluster.make(f"{GROUP}/resourceclasses", each)
        for kind in (TEMPLATE, CLAIM):
            path = f"{GROUP}/namespaces/{self.name}/{kind.lower()}s"
            self.cluster.make(path, *self._own(self.scenario.objects, kind))
        self.cluster.make(self._pods, *self._own(self.scenario.objects, POD))

    def add_later_pods(self) -> None:
        """Make the pods that come later in the scenario, unless they are there."""
        for arrival in self.scenario.arrivals:
            for pod in self._own(arrival.objects, POD):
                if self.cluster.client.ask("GET", f"{self._pods}/{pod['metadata']['name']}").code == 404:
                    self.cluster.make(self._pods, pod)

    def add_later_pods_in_turn(self) -> None:
        """Make the pods that come later in the scenario, each when the one before it is bound."""
        for arrival in self.scenario.arrivals:
            for pod in self._own(arrival.objects, POD):
                self.mark()
                self.cluster.make(self._pods, pod)
                self.attempts()

    def context(self) -> Object:
        """The spec of the PodSchedulingContext; empty if there is none."""
        path = f"{GROUP}/namespaces/{self.name}/podschedulingcontexts/{CONSUMER}"
        answer = self.cluster.client.ask("GET", path)
        return dict(answer.body["spec"]) if answer.code == 200 else {}

    def claim(self) -> Object:
        """The status of the claim that is there from the beginning."""
        path = f"{GROUP}/namespaces/{self.name}/resourceclaims/{CONSUMER}-gpu"
        return dict(self.cluster.client.ask("GET", path).body.get("status") or {})

    def await_attempts(self, count: int) -> None:
        """Wait until so many attempts are over."""
        metric = partial(self.cluster.metric, _SCHEDULED)
        until(lambda: metric() >= self._attempted + count, "no further attempt")

    def node(self, name: str = CONSUMER) -> str:
        """Where a pod is bound; empty if it is not."""
        pod = self.cluster.client.ask("GET", f"{self._pods}/{name}").body
        return text(pod["spec"], "nodeName")

    def message(self) -> str:
        """What the scheduler says of the pod."""
        pod = self.cluster.client.ask("GET", f"{self._pods}/{CONSUMER}").body
        return " ".join(text(each, "message") for each in pod["status"].get("conditions") or ())

    def clean_up(self) -> None:
        """Take the pods from the nodes, those first that may be waiting for others to go."""
        for pod in reversed(self.scenario.of_kind(POD)):
            path = f"{self._pods}/{pod['metadata']['name']}"
            self.cluster.client.ask("DELETE", path, query={"gracePeriodSeconds": "0"})

    def _own(self, objects: Iterable[Object], kind: str) -> list[Object]:
        return [
            {**obj, "metadata": {**obj["metadata"], "namespace": self.name}}
            for obj in objects
            if obj["kind"] == kind
        ]


def _settings(scenario: Scenario, driver: str) -> DriverSettings:
    """What a driver has; it takes no time by itself."""
    settings = scenario.settings(driver)
    return DriverSettings(settings.devices, settings.shareable)


def _before_start(run: Run) -> None:
    """What happens before the driver's controller starts."""
    if run.name == NODE_FILLED:
        until(lambda: run.context().get("selectedNode") == "node-1", "node-1 is not selected")
        run.add_later_pods()
        until(lambda: run.context().get("selectedNode") == "node-2", "node-2 is not selected")


def _before_allocation(run: Run) -> Callable[[], None]:
    """What happens before the driver allocates."""
    if run.name == SLOW_DRIVER:
        return lambda: run.await_attempts(2)
    if run.name == CLAIM_DEALLOCATED:
        return run.add_later_pods
    return lambda: None


def _after_start(run: Run) -> None:
    """What happens when the drivers' controllers are there."""
    if run.name == "immediate-claim":
        until(lambda: "allocation" in run.claim(), "the claim is not allocated")
        run.add_later_pods()
    if run.name == "shared-claim":
        until(lambda: bool(run.node("first")), "the first pod is not bound")
        run.add_later_pods()
    if run.name == "second-user":
        run.attempts()
    if run.name in ("second-user", "gated-pod", "other-scheduler"):
        run.add_later_pods_in_turn()


@pytest.mark.parametrize("name", expectations())
def test_same_writes_and_attempts(cluster: ClassicCluster, tmp_path: Path, name: str) -> None:
    """kube-scheduler and the drivers write what the simulation says, in as many attempts; the best case has two."""
    expected, run = expectations()[name], Run(cluster, name)
    run.begin()
    _before_start(run)
    with contextlib.ExitStack() as stack:
        for driver in run.scenario.driver_names:
            halting = HaltingDriver(_settings(run.scenario, driver), _before_allocation(run))
            stack.enter_context(serving(cluster.server, tmp_path, driver, halting))
        _after_start(run)
        if expected.node:
            until(lambda: bool(run.node()), f"not bound:\n{cluster.scheduler.last_words()}")
            until(lambda: not run.context(), "the PodSchedulingContext is left")
            assert run.node() == expected.node
            assert run.attempts() == expected.attempts
        else:
            until(lambda: expected.message in run.message(), f"not said: {run.message()}")
        found = list(recorded(cluster.writes(), f"{name}/{CONSUMER}"))
        wanted = [each for each in expected.writes if each not in expected.unordered]
        found = [each for each in found if each not in expected.unordered]
        assert by_actor(found) == by_actor(wanted)
        if len(run.scenario.driver_names) == 1:  # else it is a matter of chance which one is faster
            assert found == wanted
        run.clean_up()
