"""A driver's controller at an API server in memory: what it follows, when it works, and how it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from classic.service import Options, run
from cluster.leading import NotLeading, boot_clock
from cluster.store import Change
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from tests.classic.scenes import (
    DRIVER,
    FINALIZER,
    FakeDriver,
    allocation_on,
    claim,
    context,
    pod,
    resource_class,
)
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import CLASSIC
from tests.webhook.running import PATIENCE_SECONDS

CLAIM = f"{CLASSIC}/namespaces/default/resourceclaims/claim"
CONTEXT = f"{CLASSIC}/namespaces/default/podschedulingcontexts/pod"
EVENTS = "/apis/events.k8s.io/v1"


class RestoredDriver(FakeDriver):
    """A driver that is told what it has allocated."""

    async def restore(self, claims: Sequence[Object]) -> None:
        await self._called("restore", *(name_of(each) for each in claims))


class Voter:
    """A candidate that leads until a test says otherwise."""

    identity, seconds = "this process", 1000

    def __init__(self) -> None:
        self.leads = True

    def attempt(self) -> float | None:
        return boot_clock() if self.leads else None

    def seconds_left(self) -> float:
        return 0.0

    def release(self) -> None:
        self.leads = False


class Running:
    def __init__(self) -> None:
        self.api = FakeApi()
        self.driver = RestoredDriver()
        self.options: dict[str, Any] = {}

    @asynccontextmanager
    async def service(self, **options: Any) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(run(DRIVER, self.driver, self.api.client(), **options))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait({task})

    def status(self, path: str) -> Object:
        found: Object = self.api.get(path).get("status") or {}
        return found


@pytest.fixture
def running() -> Iterator[Running]:
    running = Running()
    yield running
    running.api.end_watches()


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.002)


def test_driver_without_all_methods_does_not_start() -> None:
    class Half:
        async def deallocate(self, claim: Object) -> None: ...

    with pytest.raises(TypeError, match=r"Half lacks a method of classic\.driver\.Driver"):
        asyncio.run(run(DRIVER, Half(), FakeApi().client()))  # type: ignore[arg-type]


def test_driver_may_follow_the_claims(running: Running) -> None:
    """It is told of those that are there, and of each write, before the answer to it is acted upon."""
    running.api.add(resource_class())
    running.api.add(claim(mode="Immediate"))
    told: list[tuple[str, bool]] = []

    def follow(changes: Sequence[Change[Object]]) -> None:
        told.extend((each.key, "allocation" in (each.after or {}).get("status", {})) for each in changes)

    async def work() -> None:
        async with running.service(follow_claims=follow):
            await until(lambda: "allocation" in running.status(CLAIM))

    asyncio.run(work())
    assert told[0] == ("default/claim", False)
    assert told[-1] == ("default/claim", True)


def test_claims_that_are_there_and_claims_that_come(running: Running) -> None:
    running.api.add(resource_class())
    running.api.add(claim(mode="Immediate"))

    async def work() -> None:
        async with running.service():
            await until(lambda: "allocation" in running.status(CLAIM))
            running.api.add(claim("second"))
            running.api.add(pod(gpu="second"))
            running.api.add(context(selected="node-1"))
            second = f"{CLASSIC}/namespaces/default/resourceclaims/second"
            await until(lambda: "allocation" in running.status(second))
            await until(lambda: running.status(CONTEXT) == {"resourceClaims": [{"name": "gpu"}]})
            running.api.request("DELETE", CLAIM)
            await until(lambda: len(running.api.all("resourceclaims", CLASSIC)) == 1)

    asyncio.run(work())
    assert list(running.driver.held.values()) == ["node-1"]


def test_driver_learns_what_it_has_allocated_before_anything_else(running: Running) -> None:
    for name, driver in (("own", DRIVER), ("other", "other.example.com")):
        status = {"driverName": driver, "allocation": allocation_on("node-1")}
        running.api.add({**claim(name), "status": status})
    running.api.add(resource_class())
    running.api.add(claim(mode="Immediate"))

    async def work() -> None:
        async with running.service():
            await until(lambda: "allocation" in running.status(CLAIM))

    asyncio.run(work())
    assert running.driver.calls[0] == ("restore", "own")


def test_driver_that_cannot_learn_it_is_asked_again(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    running.api.add(resource_class())
    running.api.add(claim(mode="Immediate"))

    async def fail_once() -> None:
        running.driver.failing.clear()
        raise OSError("no inventory yet")

    async def work() -> None:
        running.driver.failing["restore"] = fail_once
        async with running.service():
            await until(lambda: "allocation" in running.status(CLAIM))

    asyncio.run(work())
    assert "take-over failed" in caplog.messages


def test_pods_that_are_too_large_are_not_read(running: Running) -> None:
    """What is read of pods is held while drivers are asked about them: fifty pods with 130,000 ports each would take 1.6 GB."""
    running.api.add(resource_class())
    for name in ("large", "small"):
        running.api.add(claim(name))
        ports = [{"containerPort": 1}] * (20_000 if name == "large" else 1)
        asking = pod(name, gpu=name)
        asking["spec"]["containers"] = [{"name": "container", "image": "image", "ports": ports}]
        running.api.add(asking)
        running.api.add(context(name, selected="node-1"))
    small = f"{CLASSIC}/namespaces/default/resourceclaims/small"

    async def work() -> None:
        async with running.service():
            await until(lambda: "allocation" in running.status(small))
            await until(lambda: bool(running.api.all("events", EVENTS)))

    asyncio.run(work())
    (event,) = running.api.all("events", EVENTS)
    assert event["regarding"]["name"] == "large"
    assert event["note"].startswith("read the pod: GET /api/v1/namespaces/default/pods/large: the answer has")


def test_failures_in_a_namespace_do_not_fill_the_log(
    running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    """Claims that fail are tried again and again, and so is each that somebody changes."""
    for number in range(20):
        running.api.add(claim(f"claim-{number}", mode="Immediate"))

    async def work() -> None:
        async with running.service():
            await until(lambda: len(running.api.all("events", EVENTS)) > 3)

    asyncio.run(work())
    assert caplog.messages.count("failed") == 1


def test_missing_class_is_told_and_its_claims_are_allocated_when_it_comes(running: Running) -> None:
    """Without waiting for the pause after failures."""
    running.api.add(claim(mode="Immediate"))

    async def work() -> None:
        async with running.service():
            await until(lambda: bool(running.api.all("events", EVENTS)))
            running.api.add(resource_class())
            await until(lambda: "allocation" in running.status(CLAIM))

    asyncio.run(work())
    (event,) = running.api.all("events", EVENTS)
    told = [event[key] for key in ("reportingController", "reason", "action", "type", "note")]
    assert told == [
        f"{DRIVER}/resource-driver",
        "Failed",
        "Allocating",
        "Warning",
        "ResourceClass acme-gpu does not exist",
    ]
    assert (event["regarding"]["kind"], event["regarding"]["apiVersion"]) == (
        "ResourceClaim",
        "resource.k8s.io/v1alpha2",
    )


def test_as_many_hanging_calls_as_workers_do_not_stop_other_claims(running: Running) -> None:
    """Calls are given up; their claims come again while others are worked on."""
    running.api.add(resource_class())
    running.api.add(claim("hangs", mode="Immediate"))

    async def hang_twice() -> None:
        if len([each for each in running.driver.calls if each[0] == "allocate"]) <= 2:
            await asyncio.Event().wait()

    async def work() -> None:
        running.driver.failing["allocate"] = hang_twice
        async with running.service(options=Options(workers=1, call_seconds=0.05)):
            await until(lambda: ("allocate", "hangs", "") in running.driver.calls)
            running.api.add(claim(mode="Immediate"))
            await until(lambda: "allocation" in running.status(CLAIM))
            hangs = f"{CLASSIC}/namespaces/default/resourceclaims/hangs"
            await until(lambda: "allocation" in running.status(hangs))

    asyncio.run(work())


def test_contexts_are_looked_at_again(running: Running) -> None:
    """What the driver says of nodes may change, and nobody tells."""
    for obj in (resource_class(), claim(), pod(), context(potential=["node-1"])):
        running.api.add(obj)

    async def work() -> None:
        async with running.service(options=Options(recheck_seconds=0.01)):
            await until(lambda: bool(running.status(CONTEXT)))
            running.driver.unsuitable = ["node-1"]
            expected = {"resourceClaims": [{"name": "gpu", "unsuitableNodes": ["node-1"]}]}
            await until(lambda: running.status(CONTEXT) == expected)

    asyncio.run(work())


def test_ends_when_another_process_leads(running: Running) -> None:
    async def work() -> None:
        voter = Voter()
        voter.seconds = 1
        async with running.service(candidate=voter) as task:
            await until(lambda: ("restore",) in running.driver.calls)
            voter.leads = False
            with pytest.raises(NotLeading, match="another process leads"):
                await task

    asyncio.run(work())


def test_follower_writes_nothing(running: Running) -> None:
    running.api.add(resource_class())
    running.api.add(claim(mode="Immediate"))

    async def work() -> None:
        voter = Voter()
        voter.leads = False
        async with running.service(candidate=voter):
            await until(lambda: any(each.verb == "WATCH" for each in running.api.requests))

    asyncio.run(work())
    assert {each.verb for each in running.api.requests} <= {"GET", "WATCH"}
    assert running.driver.calls == []


def test_shutdown_lets_the_driver_end_and_another_process_lead(running: Running) -> None:
    running.api.add(resource_class())
    running.api.add(claim(mode="Immediate"))
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def work() -> None:
        voter = Voter()
        running.driver.failing["allocate"] = hang
        async with running.service(candidate=voter):
            await until(lambda: ("allocate", "claim", "") in running.driver.calls)
        ended.append("released" if not voter.leads else "kept")

    asyncio.run(work())
    assert ended == ["cancelled", "released"]
    assert FINALIZER in running.api.get(CLAIM)["metadata"]["finalizers"]
