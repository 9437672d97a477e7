"""The lock of the picture, which knows how much its holder computes: whoever holds it keeps all others waiting."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from time import thread_time
from typing import Self


class PictureLock:
    """For one thread at a time, which may take it again."""

    def __init__(self, clock: Callable[[], float] = thread_time) -> None:
        """`clock`: returns how much the thread has computed, in seconds since any moment."""
        self._clock = clock
        self._lock = RLock()
        self._depth = 0
        self._begun = 0.0

    def __enter__(self) -> Self:
        self._lock.acquire()
        if not self._depth:
            self._begun = self._clock()
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        seconds = 0.0 if self._depth else self.seconds
        self._lock.release()
        self.released(seconds)

    @property
    def seconds(self) -> float:
        """How much the holder has computed since it took the lock; for the holder."""
        return self._clock() - self._begun

    def released(self, seconds: float) -> None:
        """Nothing: tests insist here that no holder computes for long.

        :param seconds: how much the holder has computed; 0 if it still holds the lock.
        """
