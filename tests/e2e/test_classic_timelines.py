"""The scenarios of `claimcheck classic-simulate` on the real kube-scheduler 1.30: the same writes, as many attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from classic.simulation.devices import DriverSettings
from classic.simulation.ready import (
    BEST_CASE,
    CLAIM_DEALLOCATED,
    NAMES,
    NODE_FILLED,
    SLOW_DRIVER,
    ready_scenario,
)
from classic.simulation.scenario import Scenario
from resourceapi.manifests import text
from resourceapi.objects import Object
from tests.classic.simulation.sequences import expectations, recorded
from tests.e2e.classic_cluster import GROUP, ClassicCluster, classic_cluster, until
from tests.e2e.classic_driver_thread import HaltingDriver, serving

DRIVER, POD = "gpu.example.com", "device-consumer"
#: Long enough for what has to happen before the next attempt.
_CONFIG = {"podInitialBackoffSeconds": 3, "podMaxBackoffSeconds": 3}
_ATTEMPTS = "scheduler_pod_scheduling_attempts"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ClassicCluster]:
    """Nodes as in the scenarios, and the class of their claims."""
    with classic_cluster(3, scheduler_config=_CONFIG) as cluster:
        cluster.make(f"{GROUP}/resourceclasses", *ready_scenario(BEST_CASE).of_kind("ResourceClass"))
        yield cluster


class Run:
    """A scenario in a namespace of its own."""

    def __init__(self, cluster: ClassicCluster, name: str) -> None:
        self.cluster, self.name = cluster, name
        self.scenario: Scenario = ready_scenario(name)
        self._pods = f"/api/v1/namespaces/{name}/pods"
        self._attempted = cluster.metric("scheduler_schedule_attempts_total")

    def begin(self) -> None:
        """Make what the scenario begins with."""
        self.cluster.make("/api/v1/namespaces", {"metadata": {"name": self.name}})
        templates = f"{GROUP}/namespaces/{self.name}/resourceclaimtemplates"
        self.cluster.make(templates, *self._own(self.scenario.objects, "ResourceClaimTemplate"))
        self.cluster.make(self._pods, *self._own(self.scenario.objects, "Pod"))

    def fill_node(self) -> None:
        """Make the pods that come later in the scenario, unless they are there."""
        if self.cluster.client.ask("GET", f"{self._pods}/filler").code == 404:
            later = [obj for each in self.scenario.arrivals for obj in each.objects]
            self.cluster.make(self._pods, *self._own(later, "Pod"))

    def context(self) -> Object:
        """The spec of the PodSchedulingContext; empty if there is none."""
        path = f"{GROUP}/namespaces/{self.name}/podschedulingcontexts/{POD}"
        answer = self.cluster.client.ask("GET", path)
        return dict(answer.body["spec"]) if answer.code == 200 else {}

    def await_attempts(self, count: int) -> None:
        """Wait until so many attempts are over."""
        metric = partial(self.cluster.metric, "scheduler_schedule_attempts_total")
        until(lambda: metric() >= self._attempted + count, "no further attempt")

    def node(self) -> str:
        """Where the pod is bound; empty if it is not."""
        pod = self.cluster.client.ask("GET", f"{self._pods}/{POD}").body
        return text(pod["spec"], "nodeName")

    def clean_up(self) -> None:
        """Take the pods from the nodes."""
        query = {"gracePeriodSeconds": "0"}
        for name in ("filler", POD):
            self.cluster.client.ask("DELETE", f"{self._pods}/{name}", query=query)

    def _own(self, objects: object, kind: str) -> list[Object]:
        assert isinstance(objects, tuple | list)
        return [
            {**obj, "metadata": {**obj["metadata"], "namespace": self.name}}
            for obj in objects
            if obj["kind"] == kind
        ]


def _settings(scenario: Scenario) -> DriverSettings:
    """What the driver has; it takes no time by itself."""
    return replace(
        scenario.settings(DRIVER), start_seconds=0, check_seconds=0, allocate_seconds=0, deallocate_seconds=0
    )


def _before_start(run: Run) -> None:
    """What happens before the driver's controller starts."""
    if run.name == NODE_FILLED:
        until(lambda: run.context().get("selectedNode") == "node-1", "node-1 is not selected")
        run.fill_node()
        until(lambda: run.context().get("selectedNode") == "node-2", "node-2 is not selected")


def _before_allocation(run: Run) -> Callable[[], None]:
    """What happens before the driver allocates."""
    if run.name == SLOW_DRIVER:
        return lambda: run.await_attempts(2)
    if run.name == CLAIM_DEALLOCATED:
        return run.fill_node
    return lambda: None


@pytest.mark.parametrize("name", NAMES)
def test_same_writes_and_attempts(cluster: ClassicCluster, tmp_path: Path, name: str) -> None:
    """kube-scheduler and the drivers write what the simulation says, in as many attempts; the best case has two."""
    expected, run = expectations()[name], Run(cluster, name)
    bound, attempts = cluster.metric(f"{_ATTEMPTS}_count"), cluster.metric(f"{_ATTEMPTS}_sum")
    run.begin()
    _before_start(run)
    driver = HaltingDriver(_settings(run.scenario), _before_allocation(run))
    with serving(cluster.server, tmp_path, DRIVER, driver):
        until(lambda: bool(run.node()), f"not bound:\n{cluster.scheduler.last_words()}")
        until(lambda: not run.context(), "the PodSchedulingContext is left")
        assert run.node() == expected.node
        assert cluster.metric(f"{_ATTEMPTS}_count") - bound == 1
        assert cluster.metric(f"{_ATTEMPTS}_sum") - attempts == expected.attempts
        found = list(recorded(cluster.writes(), {"python-urllib3": DRIVER}, f"{name}/{POD}"))
        assert _ordered(found, expected.unordered) == _ordered(expected.writes, expected.unordered)
        assert found.count("") == 0
        run.clean_up()


def _ordered(writes: list[str], unordered: list[str]) -> list[str]:
    """The writes without those that come by chance before or after others."""
    return [each for each in writes if each not in unordered]
