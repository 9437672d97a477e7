"""Ending, from another thread, a stream on which a thread waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock

from resourceapi.api_client import Unavailable


class Interruption:
    """Ends what a thread reads, now or as soon as it begins, until that thread has taken note of it."""

    def __init__(self) -> None:
        self._requested = Event()
        self._end: Callable[[], None] | None = None
        self._lock = Lock()

    def request(self) -> None:
        """End the stream that is being read, or is going to be."""
        with self._lock:
            self._requested.set()
            if self._end is not None:
                with suppress(OSError, RuntimeError, ValueError):  # it has come to its end meanwhile
                    self._end()

    @property
    def is_requested(self) -> bool:
        """Whether the thread is to do something else than to read."""
        return self._requested.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until it is requested, but not longer than so many seconds; whether it is."""
        return self._requested.wait(seconds)

    def note(self) -> None:
        """Note that the thread now does what it was interrupted for."""
        self._requested.clear()

    @contextmanager
    def ends(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` when requested while the block runs; it lets whoever reads come to an end, or fail.

        :raises Unavailable: if it has been requested before.
        """
        with self._lock:
            if self.is_requested:
                raise Unavailable("interrupted")
            self._end = end
        try:
            yield
        finally:
            with self._lock:
                self._end = None
