"""What is looked at, when, and how often at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from classic.work_queue import MANY_FAILURES, RETRIES_PER_SECOND, WorkQueue
from cluster.turns import Turns

LOOP = asyncio.Runner()
"""The one event loop of all queues here."""


class Key(NamedTuple):
    name: str
    namespace: str = "default"


A, B = Key("a"), Key("b")


class Clock:
    """Timers that fire when a test says so; ``pauses`` has the seconds of all that were set."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self.pending: list[_Timer] = []

    def later(self, seconds: float, call: Callable[[], None]) -> _Timer:
        self.pauses.append(seconds)
        timer = _Timer(self, call)
        self.pending.append(timer)
        return timer

    def fire(self) -> None:
        for timer in list(self.pending):
            timer.cancel()
            timer.call()


class _Timer:
    def __init__(self, clock: Clock, call: Callable[[], None]) -> None:
        self.clock, self.call = clock, call

    def cancel(self) -> None:
        if self in self.clock.pending:
            self.clock.pending.remove(self)


@pytest.fixture(scope="module", autouse=True)
def _loop() -> Iterator[None]:
    with LOOP:
        yield


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> WorkQueue[Key]:
    return WorkQueue(clock.later, first_pause=1, longest_pause=60)


def take(queue: WorkQueue[Key]) -> list[Key]:
    """All keys that are ready; they stay in work."""

    async def all_of_them() -> list[Key]:
        found = []
        while True:
            try:
                async with asyncio.timeout(0):
                    found.append(await queue.get())
            except TimeoutError:
                return found

    return LOOP.run(all_of_them())


def test_in_the_order_of_their_coming_once_each(queue: WorkQueue[Key]) -> None:
    for key in (B, A, B):
        queue.add(key)
    assert (len(queue), take(queue), len(queue)) == (2, [B, A], 0)


def test_added_while_in_work_comes_again_afterwards(queue: WorkQueue[Key]) -> None:
    queue.add(A)
    assert take(queue) == [A]
    queue.add(A)
    assert take(queue) == []
    queue.done(A)
    assert take(queue) == [A]
    queue.done(A)
    assert take(queue) == []


def test_pauses_double_per_key_up_to_the_longest(queue: WorkQueue[Key], clock: Clock) -> None:
    for _ in range(8):
        queue.retry(A)
        clock.fire()
        take(queue)
        queue.done(A)
    queue.retry(B)
    assert clock.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 1]


def test_very_many_that_fail_leave_time_for_others(queue: WorkQueue[Key], clock: Clock) -> None:
    for number in range(MANY_FAILURES + 10 * RETRIES_PER_SECOND):
        queue.retry(Key(str(number)))
    assert (clock.pauses[MANY_FAILURES - 1], clock.pauses[-1]) == (1, 10)


def test_failures_in_one_namespace_do_not_delay_others(queue: WorkQueue[Key], clock: Clock) -> None:
    many = [Key(str(number), "attacker") for number in range(MANY_FAILURES + 5_000)]
    for key in many:
        queue.retry(key)
    queue.retry(A)
    assert clock.pauses[-2:] == [100, 1]
    for key in many:
        queue.forget(key)
    queue.retry(many[0])
    assert clock.pauses[-1] == 1


def test_namespaces_take_turns(queue: WorkQueue[Key]) -> None:
    many = [Key(str(number), "attacker") for number in range(3)]
    for key in (*many, A, B):
        queue.add(key)
    assert take(queue) == [many[0], A, many[1], B, many[2]]


def test_a_namespace_has_no_more_places_than_it_leaves_free(clock: Clock) -> None:
    """However many of its keys are ready, however long each takes: the next one of another namespace is looked at at once."""
    queue: WorkQueue[Key] = WorkQueue(clock.later, places=8)
    many = [Key(str(number), "attacker") for number in range(20)]
    others = [Key(str(number), f"accomplice-{number % 2}") for number in range(20)]
    for key in many:
        queue.add(key)
    assert take(queue) == many[:4]
    for key in others:
        queue.add(key)
    taken = take(queue)
    assert len(taken) == 3
    queue.add(A)
    assert take(queue) == [A]
    for key in (*many[:4], *taken, A):
        queue.done(key)
    again = Counter(key.namespace for key in take(queue))
    assert again == {"attacker": 2, "accomplice-0": 2, "accomplice-1": 2}


async def _settled() -> None:
    """All tasks have come as far as they can."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_who_waits_is_woken_when_a_place_is_free() -> None:
    """Whoever waits for a key of a namespace that has all its places, and nobody else for each key that is added."""
    queue: WorkQueue[Key] = WorkQueue(places=2)
    looked = 0

    class Counted(Turns[Key]):
        def take(self, *arguments: Any, **more: Any) -> Key | None:
            nonlocal looked
            looked += 1
            return super().take(*arguments, **more)

    queue._ready = Counted()

    async def work() -> list[Key]:
        waiting = [asyncio.create_task(queue.get()) for _ in range(50)]
        queue.add(A)
        queue.add(B)
        await _settled()
        first = [each.result() for each in waiting if each.done()]
        assert first == [A]
        queue.done(A)
        await _settled()
        found = [each.result() for each in waiting if each.done()]
        for each in waiting:
            each.cancel()
        return found

    assert LOOP.run(work()) == [A, B]
    assert looked <= 50 + 2 * 3


def test_pauses_begin_anew_after_success(queue: WorkQueue[Key], clock: Clock) -> None:
    for _ in range(3):
        queue.retry(A)
    queue.forget(A)
    queue.retry(A)
    assert clock.pauses == [1, 2, 4, 1]


def test_change_does_not_wait_for_the_pause(queue: WorkQueue[Key], clock: Clock) -> None:
    queue.retry(A)
    queue.add(A)
    assert (take(queue), clock.pending) == ([A], [])


def test_what_is_to_be_looked_at_anyway_needs_no_timer(queue: WorkQueue[Key], clock: Clock) -> None:
    queue.add(A)
    assert take(queue) == [A]
    queue.add(A)
    queue.retry(A)
    queue.done(A)
    assert (clock.pauses, take(queue)) == ([], [A])


def test_later_replaces_what_was_planned(queue: WorkQueue[Key], clock: Clock) -> None:
    queue.add_after(A, 30)
    queue.add_after(A, 40)
    assert (clock.pauses, len(clock.pending)) == ([30, 40], 1)
    clock.fire()
    assert take(queue) == [A]


def test_closed(queue: WorkQueue[Key], clock: Clock) -> None:
    queue.retry(A)
    queue.close()
    assert clock.pending == []


def test_with_the_timers_of_the_event_loop() -> None:
    async def work() -> Key:
        queue: WorkQueue[Key] = WorkQueue()
        queue.retry(A)
        return await queue.get()

    assert asyncio.run(work()) == A
