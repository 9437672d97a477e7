"""Objects of a stranger that a real API server stores, and that once stopped a service: others notice nothing of them.

A row is what an attacker does in a namespace of their own. The machine may be slow: so what others wait for is compared
with what they wait for when nothing is wrong.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random

import pytest

from resourceapi.limits import ALLOCATION_RESULTS, REQUESTS, SELECTORS, SUBREQUESTS
from resourceapi.objects import Object
from resourceapi.quantity import parse
from tests.e2e.control_plane import control_plane
from tests.e2e.deployed import add_account, configuration, objects_of, register_overlay
from tests.e2e.deployed_scheduler import manifests
from tests.e2e.scheduled_pods import Workloads
from tests.e2e.scheduling_cluster import scheduling_cluster, until
from tests.e2e.victims import Measured, SchedulingVictim, Victim, WebhookVictim
from tests.webhook.running import running

pytestmark = pytest.mark.e2e

OVERLAY = "built-in-guard"

#: What others may wait for on a quiet machine, in seconds: for `/healthz`, and for the node of a pod or the review of a claim.
HEALTH_SECONDS, WAIT_SECONDS = 0.1, 1.0
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


def without_node(number: int = 0) -> Object:
    """What no node can serve, which took long to find out on each node again; with another number it is another text."""
    last = {"name": f"last{number}", "exactly": {"deviceClassName": "gpu", "count": ALLOCATION_RESULTS + 1}}
    return spec(*lists(REQUESTS - 1, SELECTORS), last)


def with_conversion(number: int = 0) -> Object:
    """A selector of some 4 KB, whose `double` looked at a text again for each of its characters."""
    expression = f'double(s1+"x") > {number}.0'
    expression = f'cel.bind(s0, "{"0" * 4000}", cel.bind(s1, s0+s0, {expression}))'
    exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}
    return spec({"name": "g", "exactly": exactly})


def fatal_error(attacker: Workloads) -> None:
    """One claim that no node can serve."""
    create(attacker, "fatal", without_node())
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
    """One claim with a selector that took seconds on each device."""
    create(attacker, "slow", with_conversion())
    attacker.add_pod("slow", claim="slow")


def many_orders(attacker: Workloads) -> None:
    """Pods that name the same large claims in other orders, of each of which a plan was kept."""
    names = [f"ordered-{place}" for place in range(60)]
    for name in names:
        create(attacker, name, spec(*lists(REQUESTS, 2, f'device.driver != "{name}"')))
    for place in range(30):
        Random(place).shuffle(names)
        attacker.add_pod(f"ordered-{place}", claims=names)


def longest_as_json(attacker: Workloads) -> None:
    """A claim and a pod that etcd takes and that have six times as many bytes as JSON: no other one was read any more."""
    exactly = {
        "deviceClassName": "gpu",
        "selectors": [{"cel": {"expression": f'"{"<" * 10_000}" != ""'}}] * 29,
    }
    create(attacker, "longest", spec(*({"name": f"r{place}", "exactly": exactly} for place in range(5))))
    attacker.add_pod("longest", claim="longest", argument="<" * 1_500_000)


ATTACKS: Sequence[Callable[[Workloads], None]] = (
    fatal_error,
    heavy_claims,
    many_claims,
    slow_conversion,
    many_orders,
    longest_as_json,
)


@pytest.fixture(scope="module")
def sidecar() -> Iterator[SchedulingVictim]:
    with scheduling_cluster(replicas=2, server_flags=()) as cluster:  # which stores protobuf, as servers do
        found = SchedulingVictim(cluster)
        found.measure(5)  # what is slow only once
        yield found


@pytest.fixture(scope="module")
def webhook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookVictim]:
    directory, objects = tmp_path_factory.mktemp("webhook"), objects_of(OVERLAY)
    with control_plane("1.37") as server:
        token = directory / "token"
        token.write_text(add_account(server.client, objects))
        with running(directory, **configuration(objects, server, token)) as service:
            found = WebhookVictim(server.client, service)
            register_overlay(server.client, OVERLAY, service)
            until(found.is_asked, "the webhook is not asked")
            found.measure(5)
            yield found


def most_memory(objects: Sequence[Object]) -> int:
    """What manifests let a service have, in bytes."""
    (limit,) = {
        container["resources"]["limits"]["memory"]
        for obj in objects
        if obj["kind"] == "Deployment"
        for container in obj["spec"]["template"]["spec"]["containers"]
        if "limits" in container["resources"]
    }
    return int(parse(limit).value())


def slow(seconds: Sequence[float], usual: Sequence[float], bar: float) -> list[float]:
    """Those that took longer than they may."""
    return [each for each in seconds if each > max(bar, FACTOR * max(usual))]


def notices_nothing(usual: Measured, meanwhile: Measured, memory: int) -> None:
    """`/healthz` answered, the tenant got what they wanted, and memory was bounded."""
    late = slow(meanwhile.health, usual.health, HEALTH_SECONDS)
    assert len(late) <= SLOW_PERCENT * len(meanwhile.health) / 100
    late = slow(meanwhile.waits, usual.waits, WAIT_SECONDS)
    assert len(late) <= SLOW_PERCENT * len(meanwhile.waits) / 100
    assert meanwhile.memory < memory


def recovers(victim: Victim, usual: Measured) -> None:
    """Soon all is as it was."""
    gone = time.monotonic()
    after = victim.measure(1)
    while slow(after.waits, usual.waits, WAIT_SECONDS) or slow(after.health, usual.health, HEALTH_SECONDS):
        assert time.monotonic() - gone < RECOVERY_SECONDS, after
        after = victim.measure(1)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda each: each.__name__)
def test_others_notice_nothing(sidecar: SchedulingVictim, attack: Callable[[Workloads], None]) -> None:
    """Others' pods are bound while the attacker's objects are there, by the replica that led before."""
    usual, transitions = sidecar.measure(10), sidecar.transitions()
    attack(sidecar.attacker)
    try:
        meanwhile = sidecar.measure(20)
    finally:
        sidecar.attacker.clear()
    assert sidecar.transitions() == transitions
    notices_nothing(usual, meanwhile, most_memory(manifests()))
    recovers(sidecar, usual)


@contextlib.contextmanager
def creating(attacker: Workloads, asked: Callable[[int], Object]) -> Iterator[None]:
    """Have the attacker create one claim after the other, of which no two ask for the same; at least one."""
    ending, codes = threading.Event(), list[int]()

    def work() -> None:
        while not ending.is_set() or not codes:
            codes.append(attacker.create_claim(f"c{len(codes)}", asked(len(codes))).code)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        attacker.clear()
    assert set(codes) == {201}


@pytest.mark.parametrize("asked", [without_node, with_conversion], ids=lambda each: each.__name__)
def test_others_are_reviewed(webhook: WebhookVictim, asked: Callable[[int], Object]) -> None:
    """Others' claims are admitted while an attacker creates one after the other."""
    usual = webhook.measure(30)
    with creating(webhook.attacker, asked):
        meanwhile = webhook.measure(100)
    notices_nothing(usual, meanwhile, most_memory(objects_of(OVERLAY)))
    recovers(webhook, usual)
