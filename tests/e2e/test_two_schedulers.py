"""The sidecar and kube-scheduler's own plugin over the same devices: each respects what it knows of the other."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator

import pytest

from tests.e2e import allocation_history, fleet
from tests.e2e.allocation_history import Judge
from tests.e2e.control_plane import component
from tests.e2e.etcd_history import history
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SchedulingCluster, scheduling_cluster, until

DEFAULT = "default-scheduler"
NODES = 6


@pytest.fixture(scope="module")
def cluster() -> Iterator[SchedulingCluster]:
    """Both schedulers, and one node with 8 GPUs."""
    with (
        scheduling_cluster(replicas=1) as cluster,
        component(cluster.server, "kube-scheduler", ["--kube-api-qps=1000", "--kube-api-burst=1000"]),
    ):
        fleet.prepare(cluster.client, 1)
        yield cluster


def nodes_of(cluster: SchedulingCluster, numbers: range) -> list[str]:
    """Where pods are; an empty text for those that are on no node."""
    names = {fleet.pod_name(number) for number in numbers}
    pods = cluster.client.ask("GET", fleet.PODS).body["items"]
    return [pod["spec"].get("nodeName", "") for pod in pods if pod["metadata"]["name"] in names]


def is_refused(cluster: SchedulingCluster, number: int) -> bool:
    pod = cluster.client.ask("GET", f"{fleet.PODS}/{fleet.pod_name(number)}").body
    return any(each.get("reason") == "Unschedulable" for each in pod["status"].get("conditions", ()))


def faults(cluster: SchedulingCluster) -> list[str]:
    judge = Judge()
    judge.see_all(history(cluster.server.etcd, allocation_history.RESOURCES))
    return judge.faults


def given_twice(cluster: SchedulingCluster) -> list[str]:
    return [fault for fault in faults(cluster) if " is given to " in fault]


@pytest.mark.parametrize(
    ("first", "second", "numbers"),
    [(SCHEDULER_NAME, DEFAULT, range(10)), (DEFAULT, SCHEDULER_NAME, range(10, 20))],
    ids=["sidecar-first", "plugin-first"],
)
def test_each_knows_what_the_other_has_given(
    cluster: SchedulingCluster, first: str, second: str, numbers: range
) -> None:
    """With all GPUs in use, the other one refuses; when one is given back, it gives that."""
    *usual, last, more = numbers
    fleet.submit(cluster.client, [(number, "one") for number in usual], first)
    until(lambda: all(nodes_of(cluster, range(usual[0], last))), "not all GPUs are given")
    fleet.submit(cluster.client, [(last, "one")], second)
    until(lambda: is_refused(cluster, last), "nobody says that there is none left")
    cluster.client.ask("DELETE", f"{fleet.PODS}/{fleet.pod_name(usual[0])}")
    until(lambda: all(nodes_of(cluster, range(last, more))), "the GPU that was given back is not given")
    assert faults(cluster) == []
    for number in numbers:
        cluster.client.ask("DELETE", f"{fleet.PODS}/{fleet.pod_name(number)}")
    until(lambda: cluster.client.ask("GET", fleet.CLAIMS).body["items"] == [], "claims are still there")


def test_the_api_server_compares_no_claims(cluster: SchedulingCluster) -> None:
    """Who does not know yet that a device is given can give it once more: nobody refuses that."""
    fleet.submit(cluster.client, [(20, "one")], SCHEDULER_NAME)
    until(lambda: all(nodes_of(cluster, range(20, 21))), "the pod is not bound")
    (first,) = cluster.client.ask("GET", fleet.CLAIMS).body["items"]
    fleet.post(cluster.client, fleet.CLAIMS, {"metadata": {"name": "late"}, "spec": fleet.claim_spec("one")})
    late = cluster.client.ask("GET", f"{fleet.CLAIMS}/late").body
    late["status"] = {"allocation": copy.deepcopy(first["status"]["allocation"])}
    assert cluster.client.ask("PUT", f"{fleet.CLAIMS}/late/status", late).code == 200
    assert faults(cluster) != []
    cluster.client.ask("DELETE", f"{fleet.CLAIMS}/late")
    cluster.client.ask("DELETE", f"{fleet.PODS}/{fleet.pod_name(20)}")


def test_both_at_once(cluster: SchedulingCluster) -> None:
    """All pods are bound; how many devices are given twice is a matter of milliseconds, and printed."""
    before = len(given_twice(cluster))
    for number in range(1, NODES):
        fleet.post(cluster.client, "/api/v1/nodes", fleet.node(number))
        name = fleet.node_name(number)
        untainted = {"spec": {"taints": None}}
        content_type = "application/merge-patch+json"
        cluster.client.ask("PATCH", f"/api/v1/nodes/{name}", untainted, content_type=content_type)
        for each in fleet.slices(number):
            fleet.post(cluster.client, f"{fleet.GROUP}/resourceslices", each)
    half = NODES * fleet.GPUS // 2

    def submit(scheduler: str, start: int) -> None:
        fleet.submit(cluster.client, [(start + number, "one") for number in range(half)], scheduler)

    threads = [threading.Thread(target=submit, args=each) for each in ((SCHEDULER_NAME, 100), (DEFAULT, 200))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    def are_bound() -> bool:
        return all(nodes_of(cluster, range(100, 100 + half))) and all(
            nodes_of(cluster, range(200, 200 + half))
        )

    until(are_bound, "not all pods are bound")
    print(f"\n{2 * half} pods by two schedulers: {len(given_twice(cluster)) - before} devices given twice")
