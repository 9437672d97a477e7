"""The scheduling sidecar in a whole cluster: all pods that can be placed are, with the devices that the allocator says.

`CLAIMCHECK_SCHEDULED_NODES` and `CLAIMCHECK_SCHEDULED_PODS` make it larger.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from resourceapi.releases import Profile
from tests.e2e import allocation_history, fleet, replayed_allocations
from tests.e2e.allocation_history import Judge
from tests.e2e.etcd_history import history
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SchedulingCluster, scheduling_cluster, until

NODES = int(os.environ.get("CLAIMCHECK_SCHEDULED_NODES", "100"))
PODS = int(os.environ.get("CLAIMCHECK_SCHEDULED_PODS", "500"))
PERCENT_HARD = 3


@pytest.fixture(scope="module")
def cluster() -> Iterator[SchedulingCluster]:
    """A cluster in which all pods have been submitted, and those that can be are bound."""
    with scheduling_cluster(replicas=2) as cluster:
        fleet.prepare(cluster.client, NODES)
        fleet.submit(cluster.client, enumerate(asked()), SCHEDULER_NAME)
        placeable = sum(kind != fleet.HARD for kind in asked())
        until(lambda: len(bound(cluster)) >= placeable, "not all pods that can be placed are bound", 300)
        yield cluster


def asked() -> list[str]:
    return fleet.kinds(PODS, hard=PERCENT_HARD)


def pods(cluster: SchedulingCluster) -> list[Any]:
    found: list[Any] = cluster.client.ask("GET", fleet.PODS).body["items"]
    return found


def bound(cluster: SchedulingCluster) -> list[Any]:
    return [pod for pod in pods(cluster) if pod["spec"].get("nodeName")]


def test_all_that_can_be_placed_are(cluster: SchedulingCluster) -> None:
    """Those that ask for what no node has wait, and are told so; all others are bound."""
    waiting = [pod for pod in pods(cluster) if not pod["spec"].get("nodeName")]
    assert {pod["metadata"]["labels"]["kind"] for pod in waiting} == {fleet.HARD}
    assert len(waiting) == asked().count(fleet.HARD) > 0
    for pod in waiting:
        (condition,) = (each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")
        assert condition["reason"] == "Unschedulable"
        assert condition["message"].startswith(f"0/{NODES + 1} nodes are available: ")


def test_nothing_is_given_twice(cluster: SchedulingCluster) -> None:
    """At no moment of etcd's history, and nothing is held by nobody at the end."""
    judge = Judge()
    judge.see_all(history(cluster.server.etcd, allocation_history.RESOURCES))
    assert judge.faults == []
    assert judge.leaks() == []
    assert len(judge.bound) == len(asked()) - asked().count(fleet.HARD)


def test_claims_get_what_the_allocator_says(cluster: SchedulingCluster) -> None:
    """In the order in which devices were given, each claim got what the allocator gives on that node."""
    replay = replayed_allocations.Replay(
        history(cluster.server.etcd, replayed_allocations.RESOURCES), Profile()
    )
    assert list(replay.differences()) == []
    shared = {number // fleet.SHARED_BY for number, kind in enumerate(asked()) if kind == "shared"}
    own = sum(kind not in ("shared", fleet.HARD) for kind in asked())
    assert replay.compared == own + len(shared)
    print(
        f"\n{replay.compared} allocations compared, {replay.reordered} of them were written in another order"
    )
