"""Log messages with fields, which ``serving.logs`` writes as JSON."""

from __future__ import annotations

import logging
from typing import Any

LOGGER = logging.getLogger("claimcheck")


def log(level: int, message: str, /, **fields: Any) -> None:
    """Log a message with further fields."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, message, extra={"fields": fields})
