"""How many threads may read all objects of a namespace at once: how much memory that takes is up to tenants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from resourceapi.api_client import Unavailable

MOST = 2
PATIENCE_SECONDS = 5.0


class Turns:
    """Turns at reading: one at a time for each namespace, and few in all."""

    def __init__(self, most: int = MOST, patience: float = PATIENCE_SECONDS) -> None:
        """Make turns for one process.

        :param patience: how many seconds one waits.
        """
        self._most = most
        self._patience = patience
        self._reading: set[str] = set()
        self._changed = Condition()

    @contextmanager
    def of(self, namespace: str) -> Iterator[None]:
        """Hold the turn of a namespace for as long as a ``with`` block lasts.

        :raises Unavailable: if others take too long.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_free(namespace), self._patience):
                raise Unavailable("too many ask what is in namespaces")
            self._reading.add(namespace)
        try:
            yield
        finally:
            with self._changed:
                self._reading.remove(namespace)
                self._changed.notify_all()

    def _is_free(self, namespace: str) -> bool:
        return namespace not in self._reading and len(self._reading) < self._most
