"""The scheduling queue: when pods are tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from classic.simulation.kube_scheduler import ACTIVE, BACKOFF, UNSCHEDULABLE, QueuedPod, SchedulingQueue
from classic.simulation.timeline import NothingLeft, now, run

PLUGIN = frozenset(("DynamicResources",))
NOBODY: frozenset[str] = frozenset()


def queue(moves: list[str]) -> SchedulingQueue:
    """A queue of pods that may all enter."""
    return SchedulingQueue(lambda pod: True, lambda pod, part, cause: moves.append(part))


async def next_attempt(waiting: SchedulingQueue) -> tuple[float, QueuedPod]:
    """When the next attempt begins, and of which pod."""
    pod = await waiting.pop()
    return now(), pod


def in_time(scene: Coroutine[Any, Any, None]) -> None:
    """Play a scene in virtual time."""
    run(scene)


def test_back_off_doubles_up_to_its_limit() -> None:
    """A pod that meets a change in each attempt waits 1, 2, 4, 8, 10, 10 seconds, until the queue looks."""

    async def scene() -> None:
        moves: list[str] = []
        waiting = queue(moves)
        flushing = asyncio.create_task(waiting.run())
        waiting.add("ns/pod")
        times = []
        for _ in range(7):
            began, pod = await next_attempt(waiting)
            times.append(began)
            waiting.tell("ResourceClaimUpdate", PLUGIN)
            waiting.give_back(pod, PLUGIN, NOBODY)
        assert times == pytest.approx([0, 1, 3, 7, 15, 25, 35])
        assert set(moves) == {ACTIVE, BACKOFF}
        flushing.cancel()

    in_time(scene())


@pytest.mark.parametrize(
    ("pending", "event_of", "expected"),
    [
        (PLUGIN, PLUGIN, 0.5),  # it waits for a driver: at once
        (NOBODY, PLUGIN, 1.0),  # turned down: after its back-off
        (PLUGIN, frozenset(("NodeResourcesFit",)), None),  # not its event
    ],
)
def test_events(pending: frozenset[str], event_of: frozenset[str], expected: float | None) -> None:
    """What follows an event after half a second, for a pod that met no change in its attempt."""

    async def scene() -> None:
        moves: list[str] = []
        waiting = queue(moves)
        flushing = asyncio.create_task(waiting.run())
        waiting.add("ns/pod")
        _, pod = await next_attempt(waiting)
        waiting.give_back(pod, PLUGIN, pending)
        assert moves[-1] == UNSCHEDULABLE
        await asyncio.sleep(0.5)
        waiting.tell("Event", event_of)
        if expected is None:
            assert moves[-1] == UNSCHEDULABLE
        else:
            began, _ = await next_attempt(waiting)
            assert began == pytest.approx(expected)
        flushing.cancel()

    in_time(scene())


def test_a_forgotten_pod_is_tried_again() -> None:
    """Without any event, a pod is tried again after five minutes, when the queue looks, twice a minute."""

    async def scene() -> None:
        waiting = queue([])
        flushing = asyncio.create_task(waiting.run())
        waiting.add("ns/pod")
        _, pod = await next_attempt(waiting)
        waiting.give_back(pod, PLUGIN, NOBODY)
        began, _ = await next_attempt(waiting)
        assert 300 < began <= 330
        flushing.cancel()

    in_time(scene())


def test_errors_are_tried_again_after_the_back_off() -> None:
    """An attempt that no plugin has turned down failed for an error: no event is needed."""

    async def scene() -> None:
        waiting = queue([])
        flushing = asyncio.create_task(waiting.run())
        waiting.add("ns/pod")
        _, pod = await next_attempt(waiting)
        waiting.give_back(pod, NOBODY, NOBODY)
        began, _ = await next_attempt(waiting)
        assert began == pytest.approx(1)
        flushing.cancel()

    in_time(scene())


def test_nothing_waits_for_what_never_happens() -> None:
    """Where nothing is going to happen any more, the loop says so instead of hanging."""

    async def scene() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(NothingLeft):
        run(scene())
