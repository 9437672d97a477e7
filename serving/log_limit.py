"""A bound on log lines that any client can cause, so that nobody fills the log: of each kind one in a while."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from time import monotonic

#: Seconds between two lines of a kind.
REPORT_SECONDS = 10.0


class LogLimit:
    """Says which lines are to be written, and counts the others; for one thread at a time."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Begin with all kinds unknown.

        :param clock: returns seconds since any fixed point in time.
        """
        self._clock = clock
        self._written: dict[Hashable, tuple[float, int]] = {}

    def left_out(self, kind: Hashable) -> int | None:
        """How many lines of a kind were left out since the last one; None if this one is to be left out, too.

        :param kind: one of a few, none that clients make up.
        """
        now = self._clock()
        since, count = self._written.get(kind, (float("-inf"), 0))
        if now - since < REPORT_SECONDS:
            self._written[kind] = since, count + 1
            return None
        self._written[kind] = now, 0
        return count
