"""Objects of a stranger that a real API server stores, and that once stopped the sidecar: others notice nothing of them.

A row is what an attacker does in a namespace of their own. The machine may be slow: so what others wait for is compared
with what they wait for when nothing is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest

from resourceapi.limits import ALLOCATION_RESULTS, REQUESTS, SELECTORS, SUBREQUESTS
from resourceapi.objects import Object
from resourceapi.quantity import parse
from tests.e2e.deployed_scheduler import manifests
from tests.e2e.scheduled_pods import Workloads
from tests.e2e.scheduling_cluster import scheduling_cluster
from tests.e2e.victims import Victim

pytestmark = pytest.mark.e2e

#: What others may wait for on a quiet machine, in seconds: for `/healthz`, and for the node of a pod.
HEALTH_SECONDS, BIND_SECONDS = 0.1, 1.0
#: How many times as long as without an attack they may wait, and how many of a hundred answers may take longer.
FACTOR, SLOW_PERCENT = 3.0, 10
#: After the attacker's objects are gone.
RECOVERY_SECONDS = 10.0


def lists(requests: int, selectors: int, expression: str = "true") -> list[Object]:
    """Requests with as many alternatives as there may be, each with so many selectors."""
    each = [{"cel": {"expression": expression}}] * selectors
    alternatives = [
        {"name": f"s{place}", "deviceClassName": "gpu", "selectors": each} for place in range(SUBREQUESTS)
    ]
    return [{"name": f"r{place}", "firstAvailable": alternatives} for place in range(requests)]


def spec(*requests: Object) -> Object:
    return {"devices": {"requests": list(requests)}}


def create(attacker: Workloads, name: str, asked: Object) -> None:
    """A claim, which the API server takes."""
    answer = attacker.create_claim(name, asked)
    assert answer.code == 201, answer.body


def fatal_error(attacker: Workloads) -> None:
    """One claim that no node can serve, which took long to find out on each node again."""
    last = {"name": "last", "exactly": {"deviceClassName": "gpu", "count": ALLOCATION_RESULTS + 1}}
    create(attacker, "fatal", spec(*lists(REQUESTS - 1, SELECTORS), last))
    attacker.add_pod("fatal", claim="fatal")


def heavy_claims(attacker: Workloads) -> None:
    """One pod with many large claims, all of which were read before anybody looked at the time."""
    names = [f"heavy-{place}" for place in range(120)]
    for name in names:
        create(attacker, name, spec(*lists(REQUESTS, 2)))
    attacker.add_pod("heavy", claims=names)


def many_claims(attacker: Workloads) -> None:
    """One pod with a thousand claims."""
    names = [f"many-{place}" for place in range(1000)]
    for name in names:
        create(attacker, name, spec({"name": "g", "exactly": {"deviceClassName": "gpu"}}))
    attacker.add_pod("many", claims=names)


def slow_conversion(attacker: Workloads) -> None:
    """One claim with a selector of some 4 KB, whose `double` looked at a text again for each of its characters."""
    expression = 'double(s1+"x") > 1.0'
    expression = f'cel.bind(s0, "{"0" * 4000}", cel.bind(s1, s0+s0, {expression}))'
    exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}
    create(attacker, "slow", spec({"name": "g", "exactly": exactly}))
    attacker.add_pod("slow", claim="slow")


def many_orders(attacker: Workloads) -> None:
    """Pods that name the same large claims in other orders, of each of which a plan was kept."""
    names = [f"ordered-{place}" for place in range(60)]
    for name in names:
        create(attacker, name, spec(*lists(REQUESTS, 2, f'device.driver != "{name}"')))
    for place in range(30):
        Random(place).shuffle(names)
        attacker.add_pod(f"ordered-{place}", claims=names)


ATTACKS: Sequence[Callable[[Workloads], None]] = (
    fatal_error,
    heavy_claims,
    many_claims,
    slow_conversion,
    many_orders,
)


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    with scheduling_cluster(replicas=1) as cluster:
        found = Victim(cluster)
        found.measure(5)  # what is slow only once
        yield found


def most_memory() -> int:
    """What the manifests let the sidecar have, in bytes."""
    (limit,) = {
        container["resources"]["limits"]["memory"]
        for obj in manifests()
        if obj["kind"] == "Deployment"
        for container in obj["spec"]["template"]["spec"]["containers"]
        if "limits" in container["resources"]
    }
    return int(parse(limit).value())


def slow(seconds: Sequence[float], usual: Sequence[float], bar: float) -> list[float]:
    """Those that took longer than they may."""
    return [each for each in seconds if each > max(bar, FACTOR * max(usual))]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.__name__)
def test_others_notice_nothing(victim: Victim, attack: Callable[[Workloads], None]) -> None:
    """`/healthz` answers, others' pods are bound, and memory is bounded; soon after, all is as it was."""
    usual = victim.measure(10)
    attack(victim.attacker)
    try:
        meanwhile = victim.measure(20)
    finally:
        victim.attacker.clear()
    gone = time.monotonic()
    assert (
        len(slow(meanwhile.health, usual.health, HEALTH_SECONDS))
        <= SLOW_PERCENT * len(meanwhile.health) / 100
    )
    assert len(slow(meanwhile.binds, usual.binds, BIND_SECONDS)) <= SLOW_PERCENT * len(meanwhile.binds) / 100
    assert meanwhile.memory < most_memory()
    after = victim.measure(1)
    while slow(after.binds, usual.binds, BIND_SECONDS) or slow(after.health, usual.health, HEALTH_SECONDS):
        assert time.monotonic() - gone < RECOVERY_SECONDS, after
        after = victim.measure(1)
