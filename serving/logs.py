"""Logs as JSON lines: ``time``, ``level``, ``message``, and further fields (``uid`` of the request, …)."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Hashable
from json.encoder import encode_basestring_ascii
from time import gmtime, monotonic, strftime
from typing import Any, TextIO

from resourceapi.logs import LOGGER

# Names and refusals can be long: lines stay readable. The bytes are those of JSON.
MAX_BYTES, MAX_ENTRIES = 2000, 20
_ELLIPSIS = "…"


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
        return _with_room(value)
    if isinstance(value, list | tuple | frozenset):
        return [_cut(each) for each in list(value)[:MAX_ENTRIES]] + [_ELLIPSIS] * (len(value) > MAX_ENTRIES)
    return value


def _with_room(text: str) -> str:
    """The text, cut where its JSON would be too long."""
    if _bytes(text[: MAX_BYTES + 1]) <= MAX_BYTES:
        return text
    room = MAX_BYTES - _bytes(_ELLIPSIS)
    for index, character in enumerate(text):
        room -= _bytes(character)
        if room < 0:
            return text[:index] + _ELLIPSIS
    return text


def _bytes(text: str) -> int:
    """Of a text as JSON, without the quotation marks."""
    return len(encode_basestring_ascii(text)) - 2


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
