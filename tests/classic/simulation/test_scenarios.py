"""The scenarios that come with the program, held to the same sequences of writes as the real kube-scheduler 1.30."""

from __future__ import annotations

import pytest
import yaml

from allocator.time_limit import UNLIMITED
from classic.simulation.scenario import NAMES, ready_scenario, scenario_from
from classic.simulation.simulation import simulate
from tests.classic.simulation.sequences import expectations, scenario_named, simulated

POD = "default/device-consumer"


@pytest.mark.parametrize("name", expectations())
def test_who_writes_what(name: str) -> None:
    """Each scenario has as many attempts and writes as expected, and ends on the same node."""
    expected = expectations()[name]
    outcome = simulate(scenario_named(name), UNLIMITED)
    pod = next(each for each in outcome.pods if each.pod == POD)
    assert (pod.attempts, pod.node) == (expected.attempts, expected.node)
    assert simulated(outcome.timeline.entries, POD) == expected.writes
    assert any(expected.message in each.reason for each in outcome.timeline.entries)


def test_all_are_expected() -> None:
    """There are expectations for all scenarios that come with the program."""
    assert set(NAMES) <= set(expectations())


def test_a_simulation_is_the_same_each_time() -> None:
    """Time is virtual, and nothing is left to chance."""
    first, second = (
        simulate(ready_scenario("claim-deallocated"), UNLIMITED).timeline.entries for _ in range(2)
    )
    assert first == second


TWO_PODS = """
apiVersion: claimcheck/v1
kind: ClassicScenario
spec: {drivers: {gpu.example.com: {devices: {node-1: 1}}}}
---
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClass
metadata: {name: gpu}
driverName: gpu.example.com
---
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaim
metadata: {name: gpu}
spec: {resourceClassName: gpu, allocationMode: Immediate}
---
apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  containers: [{name: c, image: my-app}]
  resourceClaims: [{name: gpu, source: {resourceClaimName: gpu}}]
---
apiVersion: v1
kind: Pod
metadata: {name: second}
spec:
  containers: [{name: c, image: my-app}]
  resourceClaims: [{name: gpu, source: {resourceClaimName: gpu}}]
"""


def test_a_claim_that_cannot_be_shared() -> None:
    """Two pods reserve an allocated claim at the same moment: the API server refuses the second reservation."""
    outcome = simulate(scenario_from(yaml.safe_load_all(TWO_PODS), "default"), UNLIMITED)
    assert [pod.node for pod in outcome.pods] == ["node-1", ""]
    refused = "status.reservedFor: Forbidden: may not be reserved more than once"
    assert any(refused in each.reason for each in outcome.timeline.entries)
