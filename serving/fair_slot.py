"""A slot for which namespaces take turns: however many requests of one of them wait, others wait for one at a time."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError, Future
from typing import NamedTuple

from cluster.turns import Turns


class _Waiting(NamedTuple):
    namespace: str
    come: Future[None]


class FairSlot:
    """Places for requests; a namespace has one of them at most. The one that has waited longest since its last turn is next."""

    def __init__(self, most: int) -> None:
        """Begin with all places free.

        :param most: how many places there are.
        """
        self._most = most
        self._inside: set[str] = set()
        self._waiting: Turns[_Waiting] = Turns()

    def is_free_for(self, namespace: str) -> bool:
        """Whether a request of a namespace would not have to wait."""
        return len(self._inside) < self._most and namespace not in self._inside

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
        self._inside.remove(namespace)
        self._waiting.pass_on(namespace)  # also behind those that have come during its turn
        self._fill()

    def _fill(self) -> None:
        while len(self._inside) < self._most and (next_one := self._waiting.take(self._may_come)):
            self._inside.add(next_one.namespace)
            next_one.come.set_result(None)

    def _may_come(self, waiting: _Waiting) -> bool:
        # who has just been cancelled is still among those that wait
        return waiting.namespace not in self._inside and not waiting.come.done()
