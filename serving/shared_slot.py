"""A place that several processes share, for work of which there is memory for one at a time.

It is a lock on a file, which the operating system takes away from a process that ends, however it ends: nobody waits for
the dead.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path

# How often to look whether the others are done.
POLL_SECONDS = 0.05


class SharedSlot:
    """A slot in a file that all processes name; each opens it for itself, after it was forked."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._mine = asyncio.Lock()  # within this process, in the order of coming

    def locked(self) -> bool:
        """Whether somebody in this process has the slot, or waits for it."""
        return self._mine.locked()

    async def acquire(self) -> None:
        """Wait until nobody has the slot, and take it; who gives up waiting is cancelled."""
        await self._mine.acquire()
        try:
            while not self._taken():
                await asyncio.sleep(POLL_SECONDS)
        except BaseException:
            self._mine.release()
            raise

    def release(self) -> None:
        """Let the next one have the slot."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._mine.release()

    def _taken(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
