"""A place that several processes share, for work of which there is memory for one at a time.

It is a lock on a file, which the operating system takes away from a process that ends, however it ends: nobody waits for
the dead.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

# How often to look whether the others are done.
POLL_SECONDS = 0.05


class SharedSlot:
    """A slot in a file that all processes name; each opens it for itself, after it was forked."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._mine = asyncio.Lock()  # within this process, in the order of coming

    @asynccontextmanager
    async def held(self, seconds: float) -> AsyncIterator[None]:
        """Have the slot for a block.

        :raises TimeoutError: if others have it for so long.
        """
        deadline = asyncio.get_running_loop().time() + seconds
        async with asyncio.timeout_at(deadline):
            await self._mine.acquire()
        try:
            async with asyncio.timeout_at(deadline):
                while not self._taken():
                    await asyncio.sleep(POLL_SECONDS)
            try:
                yield
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        finally:
            self._mine.release()

    def _taken(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
