"""How many threads may read all objects of a namespace at once: how much memory that takes is up to tenants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from resourceapi.api_client import Unavailable

MOST = 2
#: How many may wait in one namespace: each keeps one of the process's threads for waiting (`serving.dispatch`), of which
#: half are left to other namespaces.
MOST_WAITING = 32
PATIENCE_SECONDS = 5.0


class Turns:
    """Turns at reading: one at a time for each namespace, and few in all. The namespace that has waited longest comes next.

    So however many wait in one namespace, those of another wait for one turn of that namespace at most.
    """

    def __init__(self, most: int = MOST, patience: float = PATIENCE_SECONDS) -> None:
        """Make turns for one process.

        :param patience: how many seconds one waits.
        """
        self._most = most
        self._patience = patience
        self._reading: set[str] = set()
        #: how many wait in each namespace; the one that has waited longest is first
        self._waiting: Counter[str] = Counter()
        self._changed = Condition()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._waiting.total()

    @contextmanager
    def of(self, namespace: str) -> Iterator[None]:
        """Hold the turn of a namespace for as long as a ``with`` block lasts.

        :raises Unavailable: if others take too long, or too many wait in the namespace already.
        """
        with self._changed:
            if self._waiting[namespace] >= MOST_WAITING:
                raise Unavailable("too many in this namespace ask what is in it")
            self._waiting[namespace] += 1
            has_come = self._changed.wait_for(lambda: self._is_next(namespace), self._patience)
            self._leave(namespace, goes_last=has_come)
            if not has_come:
                raise Unavailable("too many ask what is in namespaces")
            self._reading.add(namespace)
        try:
            yield
        finally:
            with self._changed:
                self._reading.remove(namespace)
                self._changed.notify_all()

    def _leave(self, namespace: str, *, goes_last: bool) -> None:
        """One waits no longer; if its turn has come, others of the namespace wait behind all others."""
        left = self._waiting[namespace] - 1
        if goes_last or not left:
            del self._waiting[namespace]
        if left:
            self._waiting[namespace] = left
        self._changed.notify_all()

    def _is_next(self, namespace: str) -> bool:
        free = (each for each in self._waiting if each not in self._reading)
        return len(self._reading) < self._most and next(free, None) == namespace
