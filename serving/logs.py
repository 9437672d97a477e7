"""Logs as JSON lines: ``time``, ``level``, ``message``, and what a record says beyond it (``uid`` of the request, …)."""

from __future__ import annotations

import json
import logging
import sys
from time import gmtime, strftime
from typing import Any, TextIO

from resourceapi.shortening import shortened

LOGGER = logging.getLogger("claimcheck")
# Objects can be named as one likes, and a refusal can have very many causes: lines stay readable.
MAX_CHARACTERS = 2000


class JSONFormatter(logging.Formatter):
    """A record as one line of JSON; extra members come from ``extra={"fields": {...}}``."""

    def format(self, record: logging.LogRecord) -> str:
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
    return shortened(value, MAX_CHARACTERS) if isinstance(value, str) else value


def log(level: int, message: str, /, **fields: Any) -> None:
    """Log a message with members of its own."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, message, extra={"fields": fields})


def configure_logs(level: str, stream: TextIO | None = None) -> None:
    """Send all logs, those of libraries included, to a stream (standard error) as JSON."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JSONFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOGGER.setLevel(level.upper())
