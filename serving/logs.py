"""Logs as JSON lines: ``time``, ``level``, ``message``, and further fields (``uid`` of the request, …)."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Hashable
from time import gmtime, monotonic, strftime
from typing import Any, TextIO

from resourceapi.logs import LOGGER
from resourceapi.phrases import shortened

# Names and refusals can be long: lines stay readable.
MAX_CHARACTERS, MAX_ENTRIES = 2000, 20


class JSONFormatter(logging.Formatter):
    """Formats a record as one line of JSON; further fields come from ``extra={"fields": {...}}``."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON, in which strings and lists of fields are shortened."""
        entry: dict[str, Any] = {
            "time": f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(record.created))}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "process": record.process,
            **{name: _cut(value) for name, value in getattr(record, "fields", {}).items()},
        }
        if record.name != LOGGER.name:
            entry["logger"] = record.name
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value, MAX_CHARACTERS)
    if isinstance(value, list | tuple | frozenset):
        return [_cut(each) for each in list(value)[:MAX_ENTRIES]] + ["…"] * (len(value) > MAX_ENTRIES)
    return value


def configure_logs(level: str, stream: TextIO | None = None) -> None:
    """Write all logs as JSON, those of libraries from warnings on.

    :param level: the name of the least level of our own.
    :param stream: standard error if None.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JSONFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOGGER.setLevel(level.upper())


# A bound on log lines that any client can cause, so that nobody fills the log: of each kind one in a
# while.

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
