"""Which claims a driver is being asked about: about each of them one thing at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from classic.errors import NotYet


class ClaimsInUse:
    """Claims by key, for the tasks of one event loop."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._unfinished: dict[str, asyncio.Task[None]] = {}

    @contextmanager
    def take(self, key: str) -> Iterator[None]:
        """Keep others from asking a driver about a claim while the block runs.

        :raises NotYet: if that goes on already, so that whoever would wait can do something else.
        """
        if key in self._taken or key in self._unfinished:
            raise NotYet(f"claim {key}: the driver is being asked about it")
        self._taken.add(key)
        try:
            yield
        finally:
            self._taken.discard(key)

    def leave_to(self, task: asyncio.Task[None], keys: Iterable[str]) -> None:
        """Have claims count as in use until a task has ended for which nobody waits any more."""
        for key in keys:
            self._unfinished[key] = task
        task.add_done_callback(self._ended)

    def unfinished(self) -> set[asyncio.Task[None]]:
        """The tasks for which nobody waits."""
        return set(self._unfinished.values())

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # has been given up: nobody is to be told of it
        for key in [key for key, each in self._unfinished.items() if each is task]:
            del self._unfinished[key]
