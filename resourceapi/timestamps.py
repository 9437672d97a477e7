"""Times as objects of the API have them (RFC 3339, UTC)."""

from __future__ import annotations

from datetime import UTC, datetime


def in_seconds(moment: datetime) -> str:
    """A time of type ``Time``: whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def in_microseconds(moment: datetime) -> str:
    """A time of type ``MicroTime``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
