"""The keys of objects to look at: each is looked at once at a time, and after failures ever more rarely.

Namespaces take turns, none has more places than it leaves free, and failures in one do not delay what fails in another.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from cluster.turns import Turns

#: The pause after the first failure, which doubles with each further one, and the longest.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.005, 60.0
#: If more keys of a namespace than that fail, their pauses are so long that not more of them come in a second.
MANY_FAILURES, RETRIES_PER_SECOND = 1_000, 50


class Namespaced(Hashable, Protocol):
    """A key that says in which namespace its object is."""

    @property
    def namespace(self) -> str:
        """The namespace of the object."""


_Key = TypeVar("_Key", bound=Namespaced)


class Timer(Protocol):
    """What is going to happen (:class:`asyncio.TimerHandle`)."""

    def cancel(self) -> None:
        """Let it not happen."""


Later = Callable[[float, Callable[[], None]], Timer]


class WorkQueue(Generic[_Key]):
    """For the tasks of one event loop. What is added while it is being worked on is worked on again afterwards."""

    def __init__(
        self,
        later: Later | None = None,
        *,
        first_pause: float = FIRST_PAUSE_SECONDS,
        longest_pause: float = LONGEST_PAUSE_SECONDS,
        places: int = sys.maxsize,
    ) -> None:
        """Begin empty.

        :param places: how many keys are in work at a time, those of a namespace in as many places as it leaves free.
        :param later: calls a function after so many seconds; by default with the event loop.
        """
        self._later = later or (lambda seconds, call: asyncio.get_running_loop().call_later(seconds, call))
        self._first_pause, self._longest_pause = first_pause, longest_pause
        self._ready: Turns[_Key] = Turns()
        self._hints = asyncio.Semaphore(0)  # as many as there may be keys to take, or more
        self._waiting: set[_Key] = set()  # to be looked at, in `_ready` unless they are also in the next one
        self._in_work: set[_Key] = set()
        self._places = places
        self._taken: Counter[str] = Counter()  # the places that each namespace has
        self._timers: dict[_Key, Timer] = {}
        self._failures: dict[_Key, int] = {}
        self._failing: Counter[str] = Counter()  # how many keys of each namespace

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: _Key) -> None:
        """Have a key looked at as soon as possible."""
        self._stop_timer(key)
        if key not in self._waiting:
            self._waiting.add(key)
            if key not in self._in_work:
                self._let_work(key)

    def add_after(self, key: _Key, seconds: float) -> None:
        """Have a key looked at after a while, unless it is added before."""
        if key in self._waiting:
            return
        self._stop_timer(key)
        self._timers[key] = self._later(seconds, lambda: self.add(key))

    def retry(self, key: _Key) -> None:
        """Have a key looked at again that has failed: at first soon, then ever later."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._failing[key.namespace] += not failures
        pause = min(self._longest_pause, self._first_pause * 2.0 ** min(failures, 60))
        too_many = self._failing[key.namespace] - MANY_FAILURES
        self.add_after(key, max(pause, too_many / RETRIES_PER_SECOND))

    def forget(self, key: _Key) -> None:
        """Forget the failures of a key."""
        if self._failures.pop(key, 0):
            self._failing[key.namespace] -= 1
            if not self._failing[key.namespace]:
                del self._failing[key.namespace]

    async def get(self) -> _Key:
        """The next key of the namespace whose turn it is; it is in work then until :meth:`done`."""
        while (key := self._ready.take(may_take=self._has_place)) is None:
            await self._hints.acquire()
        self._waiting.discard(key)
        self._in_work.add(key)
        self._taken[key.namespace] += 1
        return key

    def done(self, key: _Key) -> None:
        """Say that a key is not in work any more."""
        self._in_work.discard(key)
        self._taken[key.namespace] -= 1
        if not self._taken[key.namespace]:
            del self._taken[key.namespace]
        if self._ready:  # one of those may have a place now
            self._hints.release()
        if key in self._waiting:
            self._let_work(key)

    def close(self) -> None:
        """Stop all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _let_work(self, key: _Key) -> None:
        self._ready.put(key.namespace, key, key)
        self._hints.release()

    def _has_place(self, namespace: str) -> bool:
        return self._taken[namespace] < self._places - len(self._in_work)

    def _stop_timer(self, key: _Key) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
