"""The scenarios that come with the program, held to the same sequences of writes as the real kube-scheduler 1.30."""

from __future__ import annotations

import pytest

from allocator.time_limit import UNLIMITED
from classic.simulation.ready import NAMES, ready_scenario
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
