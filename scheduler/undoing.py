"""Who works on which claims, and what is still to be taken back from an attempt that failed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Condition, Event

from cluster.leading import NotLeading
from resourceapi.api_client import Unavailable
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import LOGGER, log
from scheduler.pod_allocation import PodAllocation

RETRY_SECONDS = 1.0


class Undoing:
    """Lets one attempt at a time write to a claim, and none to one from which something is still to be taken back."""

    def __init__(self) -> None:
        self._changed = Condition()  # its lock is for `_held`, and for taking out of `_pending`
        self._held: set[str] = set()
        self._pending: list[PodAllocation] = []

    def __len__(self) -> int:
        """How many attempts are still to be taken back."""
        return len(self._pending)

    @contextmanager
    def holding(self, keys: Iterable[str]) -> Iterator[None]:
        """Wait until no other attempt writes to one of these claims, and keep them for this one.

        They are taken all at once, so that nobody waits for somebody who waits.

        :param keys: ``namespace/name``.
        :raises ClaimcheckError: if something has to be taken back first, and cannot be.
        """
        wanted = frozenset(keys)
        with self._changed:
            self._changed.wait_for(lambda: self._held.isdisjoint(wanted))
            self._held |= wanted
        try:
            for each in list(self._pending):
                if not wanted.isdisjoint(each.keys) and not self._try(each):
                    raise Unavailable("devices of an earlier attempt are still to be taken back")
            yield
        finally:
            with self._changed:
                self._held -= wanted
                self._changed.notify_all()

    def take_back(self, allocation: PodAllocation) -> None:
        """Take back what an attempt has written; what cannot be taken back now will be later.

        :param allocation: all of its claims are held.
        """
        self._pending.append(allocation)
        self._try(allocation)

    def retry(self) -> None:
        """Try once more whatever is pending."""
        for each in list(self._pending):
            try:
                with self.holding(each.keys):
                    pass
            except ClaimcheckError as error:
                log(logging.WARNING, "devices not taken back yet", claims=each.keys, reason=str(error))

    def run(self, ending: Event) -> None:
        """Try again from time to time."""
        while not ending.wait(RETRY_SECONDS):
            self.retry()

    def _try(self, allocation: PodAllocation) -> bool:
        """Take it back, if that is possible now; whether it is no longer pending."""
        try:
            allocation.take_back()
        except NotLeading:  # who leads now looks after it
            allocation.forget()
        except ClaimcheckError:
            return False
        except Exception:  # noqa: BLE001 - whatever it is, the devices stay taken, and others are taken back
            LOGGER.exception("devices not taken back")
            return False
        with self._changed:
            if allocation in self._pending:  # others may have tried at the same time
                self._pending.remove(allocation)
        return True
