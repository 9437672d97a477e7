"""Whatever dies or stops while pods and gangs come and go: nothing is given out twice, nothing leaks, all are placed in the end.

Each is done `CLAIMCHECK_KILLS` times (20 and more to be sure; run with `-s` to see how long a take-over takes).
"""

from __future__ import annotations

import contextlib
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e import fleet
from tests.e2e.allocation_history import RESOURCES, Judge
from tests.e2e.api_proxy import ApiProxy, Moment, Seen, Trap, api_proxy
from tests.e2e.churn import Churn
from tests.e2e.control_plane import ApiServer
from tests.e2e.etcd_history import history
from tests.e2e.pod_group_setup import WITH_POD_GROUPS
from tests.e2e.scheduling_cluster import (
    SCHEDULER_NAME,
    SchedulingCluster,
    Sidecar,
    scheduling_cluster,
    until,
)

KILLS = int(os.environ.get("CLAIMCHECK_KILLS", "2"))
PAUSE_SECONDS = float(os.environ.get("CLAIMCHECK_PAUSE_SECONDS", "8"))
NODES, ALIVE, RATE = 20, 60, 15.0
REPLICAS, PAUSES = 2, 5


def is_finalizer(seen: Seen) -> bool:
    return (
        seen.method in ("PUT", "PATCH") and "/resourceclaims/" in seen.path and not is_subresource(seen.path)
    )


def is_subresource(path: str) -> bool:
    return path.partition("?")[0].rpartition("/resourceclaims/")[2].count("/") > 0


def is_allocation(seen: Seen) -> bool:
    return (
        seen.method in ("PUT", "PATCH")
        and seen.path.partition("?")[0].endswith("/status")
        and b'"results"' in seen.body
    )


def is_binding(seen: Seen) -> bool:
    return seen.method == "POST" and seen.path.partition("?")[0].endswith("/binding")


def is_renewal(seen: Seen) -> bool:
    return seen.method in ("PUT", "PATCH") and "/leases/" in seen.path


STEPS: dict[str, Callable[[Seen], bool]] = {
    "finalizer": is_finalizer,
    "allocation": is_allocation,
    "binding": is_binding,
    "lease": is_renewal,
}
STEPS_AND_MOMENTS = [
    pytest.param(step, moment, id=f"{step}-{moment.value}") for step in STEPS for moment in Moment
]


class Environment(NamedTuple):
    """A cluster whose sidecars reach the API server by proxies, one each."""

    cluster: SchedulingCluster
    proxies: list[ApiProxy]

    def proxy_of(self, sidecar: Sidecar) -> ApiProxy:
        return self.proxies[self.cluster.sidecars.index(sidecar)]


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    with contextlib.ExitStack() as stack:
        proxies: list[ApiProxy] = []

        def address(server: ApiServer, number: int) -> str:
            certificates = Path(server.kubeconfig).parent / "certs"
            proxies.append(stack.enter_context(api_proxy(server.client.port, certificates)))
            return proxies[number].url

        cluster = stack.enter_context(
            scheduling_cluster(replicas=REPLICAS, address=address, **WITH_POD_GROUPS)
        )
        fleet.prepare(cluster.client, NODES)
        yield Environment(cluster, proxies)


@contextlib.contextmanager
def judged_churn(environment: Environment) -> Iterator[Churn]:
    """Pods come and go while the block runs; then all that are left are placed, and nothing was or is wrong."""
    cluster = environment.cluster
    try:
        with Churn(
            cluster.client,
            SCHEDULER_NAME,
            alive=ALIVE,
            rate=RATE,
            mix=fleet.WITH_GANGS,
            first=_next_number(cluster),
        ) as churn:
            yield churn
        assert churn.problems == []
        until(lambda: not waiting(cluster), lambda: f"not placed in the end: {_reasons(cluster)[:5]}")
        judge = judged(cluster)
        assert judge.faults == []
        until(lambda: not judged(cluster).leaks(), lambda: f"leaks: {judged(cluster).leaks()[:5]}", 30)
    finally:  # what one test leaves must not keep the devices from the next one's pods
        answers = [cluster.client.ask("DELETE", each) for each in (fleet.PODS, fleet.POD_GROUPS)]
    assert [each.code for each in answers] == [200, 200], answers
    until(lambda: not held(cluster), "claims keep devices although their pods are gone")
    print(f"\n{churn.created} pods created, {churn.deleted} deleted, {judge.allocations} allocations")


def judged(cluster: SchedulingCluster) -> Judge:
    judge = Judge()
    judge.see_all(history(cluster.server.etcd, RESOURCES))
    return judge


def waiting(cluster: SchedulingCluster) -> list[str]:
    items = cluster.client.ask("GET", fleet.PODS).body["items"]
    return [pod["metadata"]["name"] for pod in items if not pod["spec"].get("nodeName")]


def _reasons(cluster: SchedulingCluster) -> list[str]:
    """Why pods wait, and how many of their gangs do not."""
    reasons = []
    for pod in judged(cluster).pods.values():
        if not pod["spec"].get("nodeName"):
            said = [each.get("message") for each in pod["status"].get("conditions") or ()]
            reasons.append(f"{pod['metadata']['name']} ({pod['metadata']['labels']['kind']}): {said}")
    return [*reasons, *judged(cluster).half_gangs()]


def held(cluster: SchedulingCluster) -> list[str]:
    """Claims that are allocated, or were made for pods."""
    items = cluster.client.ask("GET", fleet.CLAIMS).body["items"]
    return [
        claim["metadata"]["name"]
        for claim in items
        if (claim.get("status") or {}).get("allocation") or claim["metadata"].get("ownerReferences")
    ]


_NUMBERS = {"next": 0}


def _next_number(cluster: SchedulingCluster) -> int:
    _NUMBERS["next"] += 10_000
    return _NUMBERS["next"]


@contextlib.contextmanager
def only_stopped(environment: Environment) -> Iterator[None]:
    """The sidecars' processes are the same ones afterwards: what was stopped has gone on, and was not started anew."""
    environment.cluster.leader_of_warm()
    before = [each.processes() for each in environment.cluster.sidecars]
    yield
    assert [each.processes() for each in environment.cluster.sidecars] == before


class TakeOvers:
    """How long it took from a blow to the leader until another one was ready."""

    def __init__(self, cluster: SchedulingCluster) -> None:
        self.seconds: list[float] = []
        self._cluster = cluster

    def measure(self, struck: Sidecar, since: float) -> None:
        """Wait until another one leads."""
        others = [each for each in self._cluster.sidecars if each is not struck]
        until(
            lambda: any(each.leads() for each in others),
            f"nobody takes over: {[each.last_words(12) for each in others]}",
        )
        self.seconds.append(time.monotonic() - since)

    def __str__(self) -> str:
        ordered = sorted(self.seconds)
        middle = statistics.median(ordered)
        each = " ".join(f"{seconds:.2f}" for seconds in ordered)
        return (
            f"take-overs in seconds: median {middle:.2f}, longest {ordered[-1]:.2f} of {len(ordered)}: {each}"
        )


@pytest.mark.parametrize(("step", "moment"), STEPS_AND_MOMENTS)
def test_leader_dies_at_each_step(environment: Environment, step: str, moment: Moment) -> None:
    """The leader is killed when it is about to write, or has written and does not know it."""
    cluster = environment.cluster
    times = TakeOvers(cluster)
    with judged_churn(environment):
        for _ in range(KILLS):
            leader = cluster.leader_of_warm()
            proxy = environment.proxy_of(leader)
            struck: list[float] = []

            def strike(victim: Sidecar = leader, struck: list[float] = struck) -> None:
                struck.append(time.monotonic())
                victim.kill()

            proxy.set_trap(Trap(STEPS[step], moment, strike))
            until(lambda: not leader.is_running(), f"no request for the step {step}")  # noqa: B023
            times.measure(leader, struck[0])
            leader.start()
    print(f"{step}, {moment.value}: {times}")


@pytest.mark.parametrize(("step", "moment"), STEPS_AND_MOMENTS)
def test_connection_is_lost_at_each_step(environment: Environment, step: str, moment: Moment) -> None:
    """The leader lives on, and does not know whether it has written."""
    with judged_churn(environment):
        for _ in range(KILLS):
            proxy = environment.proxy_of(environment.cluster.leader())
            proxy.set_trap(Trap(STEPS[step], moment, lambda: None))
            until(lambda: not proxy.is_set(), f"no request for the step {step}")  # noqa: B023
            time.sleep(0.5)


def test_leader_dies_at_any_time(environment: Environment) -> None:
    """kill -9 at random moments."""
    times, chance = TakeOvers(environment.cluster), random.Random(1)
    with judged_churn(environment):
        for _ in range(KILLS):
            leader = environment.cluster.leader_of_warm()
            time.sleep(chance.uniform(0.2, 2))
            leader.kill()
            times.measure(leader, time.monotonic())
            leader.start()
    print(f"any time: {times}")


def test_leader_stops_and_goes_on(environment: Environment) -> None:
    """A leader that is only paused finds that it leads no more, whatever it was about to write."""
    times, chance = TakeOvers(environment.cluster), random.Random(2)
    with only_stopped(environment), judged_churn(environment):
        for _ in range(KILLS):
            leader = environment.cluster.leader_of_warm()
            time.sleep(chance.uniform(0.2, 2))
            leader.pause()
            since = time.monotonic()
            times.measure(leader, since)
            time.sleep(max(0.0, since + PAUSE_SECONDS - time.monotonic()))
            leader.resume()
    print(f"paused: {times}")


def test_sidecars_stop_for_a_moment(environment: Environment) -> None:
    """Whoever it is, also both: some of the pauses end before the Lease does, some just when it does, some after it."""
    chance = random.Random(5)
    sidecars = environment.cluster.sidecars
    with only_stopped(environment), judged_churn(environment):
        for _ in range(KILLS):
            for _ in range(PAUSES):
                paused = chance.choice([sidecars, sidecars[:1], sidecars[1:]])
                for each in paused:
                    each.pause()
                time.sleep(chance.choice([chance.uniform(0, 0.3), chance.uniform(2, 3.5)]))
                for each in paused:
                    each.resume()
                time.sleep(chance.uniform(0, 0.5))
            environment.cluster.leader()


@pytest.mark.parametrize(("step", "moment"), STEPS_AND_MOMENTS)
def test_leader_stops_at_each_step(environment: Environment, step: str, moment: Moment) -> None:
    """It is stopped with a write on its way, which arrives before or long after another one has taken over."""
    cluster = environment.cluster
    with only_stopped(environment), judged_churn(environment):
        for _ in range(KILLS):
            leader = cluster.leader_of_warm()
            proxy = environment.proxy_of(leader)
            proxy.set_trap(Trap(STEPS[step], moment, leader.pause, passes=True))
            until(lambda: not proxy.is_set(), f"no request for the step {step}")  # noqa: B023
            TakeOvers(cluster).measure(leader, time.monotonic())
            time.sleep(1)
            proxy.let_pass()
            leader.resume()


def test_scheduler_dies_at_any_time(environment: Environment) -> None:
    """kube-scheduler forgets all that it has asked for, and asks again."""
    chance = random.Random(3)
    with judged_churn(environment):
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.2, 2))
            environment.cluster.scheduler.kill()
            time.sleep(chance.uniform(0, 1))
            environment.cluster.scheduler.start()
            time.sleep(2)


def test_api_server_dies_at_any_time(environment: Environment) -> None:
    """Nothing can be written for a while, nor undone."""
    chance = random.Random(4)
    server = environment.cluster.server
    with judged_churn(environment):
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.2, 2))
            server.program.kill()
            time.sleep(chance.uniform(0, 5))
            server.start()
            environment.cluster.leader()
            time.sleep(1)
