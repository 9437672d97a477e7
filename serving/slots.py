"""Slots for requests that may block: only so many run at once, so that small requests find the processor free."""

from __future__ import annotations

import asyncio
import fcntl
import os
from asyncio import CancelledError, Future
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cluster.turns import Turns
from resourceapi.json_values import most_values
from serving.routes import LARGE_BYTES, Caller, HTTPError, Route

# A slot for which namespaces take turns: however many requests of one of them wait, others wait for one at
# a time.


class _Waiting(NamedTuple):
    namespace: str
    come: Future[None]


class FairSlot:
    """Places for requests. The namespace that has waited longest since its last turn is next, and has one place at most."""

    def __init__(self, most: int, *, shares: bool = False) -> None:
        """Begin with all places free.

        :param most: how many places there are.
        :param shares: whether a namespace has as many places as it leaves free instead of one.
        """
        self._most = most
        self._shares = shares
        self._inside: Counter[str] = Counter()
        self._waiting: Turns[_Waiting] = Turns()

    def is_free_for(self, namespace: str) -> bool:
        """Whether a request of a namespace would not have to wait."""
        free = self._most - self._inside.total()
        return self._inside[namespace] < (free if self._shares else min(free, 1))

    async def acquire(self, namespace: str) -> None:
        """Wait for a place, and take it."""
        waiting = _Waiting(namespace, asyncio.get_running_loop().create_future())
        self._waiting.put(namespace, waiting, waiting)
        self._fill()
        try:
            await waiting.come
        except CancelledError:
            if waiting.come.cancelled():
                self._waiting.discard(waiting)
            else:  # its turn has come meanwhile
                self.release(namespace)
            raise

    def release(self, namespace: str) -> None:
        """Free the place of a namespace."""
        self._inside[namespace] -= 1
        self._inside += Counter()  # without those that have none
        self._waiting.pass_on(namespace)  # also behind those that have come during its turn
        self._fill()

    def _fill(self) -> None:
        while self._inside.total() < self._most and (next_one := self._waiting.take(self._may_come)):
            self._inside[next_one.namespace] += 1
            next_one.come.set_result(None)

    def _may_come(self, waiting: _Waiting) -> bool:
        # who has just been cancelled is still among those that wait
        return self.is_free_for(waiting.namespace) and not waiting.come.done()


class Places:
    """Places for which nobody waits: each may take as many as they leave free for others.

    :param most: how many there are.
    :param most_of_one: how many somebody may take at most.
    :param refusal: what somebody is told who may take no other.
    """

    def __init__(self, most: int, most_of_one: int, refusal: str) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._refusal = refusal
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, name: str) -> Iterator[None]:
        """Take a place for somebody in the block.

        :raises HTTPError: if there is none for them.
        """
        if self._taken[name] >= min(self._most_of_one, self._most - self._taken.total()):
            raise HTTPError(self._refusal, 503)
        self._taken[name] += 1
        try:
            yield
        finally:
            self._taken[name] -= 1
            self._taken += Counter()  # without those that have none


# Slots for work of which there is memory for one at a time.
# Several processes share one by locks on files, which the operating system releases when a process ends, however it ends.

# How often to look whether the others are done.
POLL_SECONDS = 0.05


class SharedSlot:
    """A slot for all processes that open the same file; each opens it for itself, after it was forked.

    A process that has just had it does not get it again before another one that waits.

    :param file: created if it does not exist, as is one with the suffix ``.next``.
    """

    def __init__(self, file: Path) -> None:
        self._inside, self._next = (
            os.open(each, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            for each in (file, file.with_suffix(".next"))
        )
        self._local = FairSlot(1)  # within this process

    def is_free_for(self, namespace: str) -> bool:
        """Whether this process neither has the slot nor waits for it."""
        return self._local.is_free_for(namespace)

    async def acquire(self, namespace: str) -> None:
        """Wait until the slot is free, and take it for a request of a namespace."""
        await self._local.acquire(namespace)
        try:
            await _lock(self._next)
            try:
                await _lock(self._inside)
            finally:
                fcntl.flock(self._next, fcntl.LOCK_UN)
        except BaseException:
            self._local.release(namespace)
            raise

    def release(self, namespace: str) -> None:
        """Free the slot that a namespace has."""
        fcntl.flock(self._inside, fcntl.LOCK_UN)
        self._local.release(namespace)


async def _lock(descriptor: int) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(POLL_SECONDS)
        else:
            return


# No namespace can be called so.
STRANGERS = "strangers/"


class StrangersSlot:
    """The one turn that all clients that are not known have together at a slot of which known clients take turns.

    :param slot: for all clients.
    :param strangers: for those that are not known: who has it may wait for the other one.
    """

    def __init__(self, slot: FairSlot | SharedSlot, strangers: FairSlot | SharedSlot) -> None:
        self._slot = slot
        self._strangers = strangers

    def is_free_for(self, namespace: str) -> bool:
        """Whether a request of a namespace would not have to wait for another one of this process."""
        return self._strangers.is_free_for(namespace) and self._slot.is_free_for(STRANGERS)

    async def acquire(self, namespace: str) -> None:
        """Wait for the turn of a namespace, then for that of all strangers."""
        await self._strangers.acquire(namespace)
        try:
            await self._slot.acquire(STRANGERS)
        except BaseException:
            self._strangers.release(namespace)
            raise

    def release(self, namespace: str) -> None:
        """Free the slot that a namespace has."""
        self._slot.release(STRANGERS)
        self._strangers.release(namespace)


# How many run at once, in each lane and for each sort of client.
MAX_LARGE = 1
MAX_MEDIUM = 2
# Bodies that take more memory than some tens of MiB are worked on one at a time, in all processes together.
HUGE_BYTES = 4 * 1024 * 1024
HUGE_VALUES = 256 * 1024


class Slots:
    """The slots of one process.

    Requests of clients that are not known never take the slots of those that are, but for huge bodies, where known
    clients wait for one of them at most. In each slot namespaces take turns.

    :param shared: the directory for the slots for huge bodies that all processes share; None if there is only this process.
    """

    def __init__(self, shared: Path | None = None) -> None:
        self._huge, strangers = (
            FairSlot(1) if shared is None else SharedSlot(shared / name) for name in ("huge", "strangers")
        )
        self._strangers_huge = StrangersSlot(self._huge, strangers)
        self._slots: dict[tuple[str, bool, str], FairSlot] = {}

    def slot(self, route: Route, body: bytes, caller: Caller) -> FairSlot | SharedSlot | StrangersSlot:
        """The slot that a request has to wait for."""
        size = len(body)
        if size >= HUGE_BYTES or (size >= HUGE_VALUES and most_values(body) >= HUGE_VALUES):
            return self._strangers_huge if caller.doubt else self._huge
        is_large = size >= LARGE_BYTES
        number = MAX_LARGE if is_large else MAX_MEDIUM
        return self._slots.setdefault((route.lane, is_large, caller.doubt), FairSlot(number))
