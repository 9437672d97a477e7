"""What is looked at, when, and how often at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from classic.work_queue import MANY_FAILURES, RETRIES_PER_SECOND, WorkQueue

LOOP = asyncio.Runner()
"""The one event loop of all queues here."""


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
def queue(clock: Clock) -> WorkQueue[str]:
    return WorkQueue(clock.later, first_pause=1, longest_pause=60)


def take(queue: WorkQueue[str]) -> list[str]:
    """All keys that are ready; they stay in work."""

    async def all_of_them() -> list[str]:
        found = []
        while True:
            try:
                async with asyncio.timeout(0):
                    found.append(await queue.get())
            except TimeoutError:
                return found

    return LOOP.run(all_of_them())


def test_in_the_order_of_their_coming_once_each(queue: WorkQueue[str]) -> None:
    for key in ("b", "a", "b"):
        queue.add(key)
    assert (len(queue), take(queue), len(queue)) == (2, ["b", "a"], 0)


def test_added_while_in_work_comes_again_afterwards(queue: WorkQueue[str]) -> None:
    queue.add("a")
    assert take(queue) == ["a"]
    queue.add("a")
    assert take(queue) == []
    queue.done("a")
    assert take(queue) == ["a"]
    queue.done("a")
    assert take(queue) == []


def test_pauses_double_per_key_up_to_the_longest(queue: WorkQueue[str], clock: Clock) -> None:
    for _ in range(8):
        queue.retry("a")
        clock.fire()
        take(queue)
        queue.done("a")
    queue.retry("b")
    assert clock.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 1]


def test_very_many_that_fail_leave_time_for_others(queue: WorkQueue[str], clock: Clock) -> None:
    for number in range(MANY_FAILURES + 10 * RETRIES_PER_SECOND):
        queue.retry(str(number))
    assert (clock.pauses[MANY_FAILURES - 1], clock.pauses[-1]) == (1, 10)


def test_pauses_begin_anew_after_success(queue: WorkQueue[str], clock: Clock) -> None:
    for _ in range(3):
        queue.retry("a")
    queue.forget("a")
    queue.retry("a")
    assert clock.pauses == [1, 2, 4, 1]


def test_change_does_not_wait_for_the_pause(queue: WorkQueue[str], clock: Clock) -> None:
    queue.retry("a")
    queue.add("a")
    assert (take(queue), clock.pending) == (["a"], [])


def test_what_is_to_be_looked_at_anyway_needs_no_timer(queue: WorkQueue[str], clock: Clock) -> None:
    queue.add("a")
    assert take(queue) == ["a"]
    queue.add("a")
    queue.retry("a")
    queue.done("a")
    assert (clock.pauses, take(queue)) == ([], ["a"])


def test_later_replaces_what_was_planned(queue: WorkQueue[str], clock: Clock) -> None:
    queue.add_after("a", 30)
    queue.add_after("a", 40)
    assert (clock.pauses, len(clock.pending)) == ([30, 40], 1)
    clock.fire()
    assert take(queue) == ["a"]


def test_closed(queue: WorkQueue[str], clock: Clock) -> None:
    queue.retry("a")
    queue.close()
    assert clock.pending == []


def test_with_the_timers_of_the_event_loop() -> None:
    async def work() -> str:
        queue: WorkQueue[str] = WorkQueue()
        queue.retry("a")
        return await queue.get()

    assert asyncio.run(work()) == "a"
