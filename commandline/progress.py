"""How far a long run has come, on a terminal."""

from __future__ import annotations

import sys
import time

QUIET_SECONDS = 1.0  # shorter runs show nothing
INTERVAL_SECONDS = 0.2


class Progress:
    """Counts steps, and shows their number on stderr while they take long.

    ``what`` names them (``objects``); ``total`` is how many there will be, if that is known.  Of several processes only
    one is ``shown``.
    """

    __slots__ = ("_count", "_due", "_of_total", "_shown", "_what")

    def __init__(self, what: str, total: int = 0, *, shown: bool = True) -> None:
        self._what = what
        self._of_total = f"/{total}" if total else ""
        self._count = 0
        self._shown = False
        visible = shown and sys.stderr.isatty()
        self._due = time.monotonic() + QUIET_SECONDS if visible else float("inf")

    def step(self) -> None:
        """One more is about to be done."""
        if (now := time.monotonic()) >= self._due:
            sys.stderr.write(f"\r{self._count}{self._of_total} {self._what}")
            sys.stderr.flush()
            self._due, self._shown = now + INTERVAL_SECONDS, True
        self._count += 1

    def done(self) -> None:
        """Take the line away again."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
