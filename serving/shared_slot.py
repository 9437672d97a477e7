"""A slot that several processes share, for work of which there is memory for one at a time.

It is a lock on a file, which the operating system releases when a process ends, however it ends.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path

from serving.fair_slot import FairSlot

# How often to look whether the others are done.
POLL_SECONDS = 0.05


class SharedSlot:
    """A slot for all processes that open the same file; each opens it for itself, after it was forked.

    :param file: created if it does not exist.
    """

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._local = FairSlot(1)  # within this process

    def is_free_for(self, namespace: str) -> bool:
        """Whether this process neither has the slot nor waits for it."""
        return self._local.is_free_for(namespace)

    async def acquire(self, namespace: str) -> None:
        """Wait until the slot is free, and take it for a request of a namespace."""
        await self._local.acquire(namespace)
        try:
            while not self._try_lock():
                await asyncio.sleep(POLL_SECONDS)
        except BaseException:
            self._local.release(namespace)
            raise

    def release(self, namespace: str) -> None:
        """Free the slot that a namespace has."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._local.release(namespace)

    def _try_lock(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
