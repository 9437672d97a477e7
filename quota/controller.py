"""The controller that recounts usage, so that deleted claims and reservations that came to nothing make room again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from threading import Event

from quota.reservations import Reservations

INTERVAL = 10.0


class RecountController:
    """Recounts every namespace with a quota, and forgets the ledgers of all others; each replica runs one."""

    def __init__(
        self,
        reservations: Reservations,
        namespaces_with_quota: Callable[[], Iterable[str]],
        *,
        interval: float = INTERVAL,
        report: Callable[[str, Exception], None] = lambda namespace, error: None,
    ) -> None:
        """Make a controller; :meth:`run` starts it.

        :param interval: seconds between recounts, give or take a fifth so that replicas drift apart.
        :param report: called with a namespace that could not be recounted this time (empty: all), and why.
        """
        self._reservations = reservations
        self._namespaces_with_quota = namespaces_with_quota
        self._interval = interval
        self._report = report

    def run(self, stop: Event) -> None:
        """Recount until told to stop."""
        while not stop.wait(self._interval * random.uniform(0.8, 1.2)):
            self.recount_all(stop)

    def recount_all(self, stop: Event | None = None) -> None:
        """One round; whatever fails is reported and tried again in the next one."""
        try:
            wanted = set(self._namespaces_with_quota())
            stored = self._reservations.store.keys()
        except Exception as error:  # noqa: BLE001 - the next round may succeed
            self._report("", error)
            return
        for namespace in sorted(wanted.union(stored)):
            if stop is not None and stop.is_set():
                return
            try:
                if namespace in wanted:
                    self._reservations.recount(namespace)
                else:
                    self._reservations.forget(namespace)
            except Exception as error:  # noqa: BLE001 - one namespace does not end the work for others
                self._report(namespace, error)
