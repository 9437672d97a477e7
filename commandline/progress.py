"""How far a long run has come, on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
QUIET_SECONDS = 1.0  # shorter runs show nothing
INTERVAL_SECONDS = 0.2


def track(items: Iterable[T], what: str, total: int = 0) -> Iterable[T]:
    """The items as they are; while a long time is spent on them, their number is shown on stderr.

    ``what`` names them (``objects``); ``total`` is how many there will be, if that is known.
    """
    return _shown(items, what, total) if sys.stderr.isatty() else items


def _shown(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    due = time.monotonic() + QUIET_SECONDS
    shown = False
    of_total = f"/{total}" if total else ""
    for count, item in enumerate(items):
        if (now := time.monotonic()) >= due:
            sys.stderr.write(f"\r{count}{of_total} {what}")
            sys.stderr.flush()
            due, shown = now + INTERVAL_SECONDS, True
        yield item
    if shown:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
