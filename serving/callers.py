"""The client of one request: how far it is known, and how long it waits for the answer."""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

_MAX_DURATION_LENGTH = 32
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?)(h|ms|m|us|µs|ns|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
# The answer has to arrive before the client gives up; API servers round their timeout up to whole seconds.
_USED_SHARE = 0.9


class Deadline(Protocol):
    """How long a client waits; all methods may be called by any thread."""

    def stop(self) -> None:
        """Note that the client no longer waits."""
        ...

    def is_open(self) -> bool:
        """Whether the client still waits."""
        ...

    def seconds_left(self) -> float:
        """Seconds until the client gives up; never negative."""
        ...


class Caller(NamedTuple):
    """The client of one request.

    ``doubt``: why it may be somebody else than a client that may ask for everything; empty if its certificate proves that.
    ``deadline``: how long it waits.
    ``size``: bytes of the request's body.
    """

    doubt: str
    deadline: Deadline
    size: int = 0


def seconds_to_answer(query: str, most: float) -> float:
    """How many seconds the answer to a request may take.

    :param query: of the request's URL; API servers state how long they wait (``timeout=10s``, a Go duration).
    :param most: seconds, whatever the query says, or if it says nothing that can be parsed.
    """
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name == "timeout":
            wanted = _seconds(value)
            return most if wanted is None else min(most, wanted * _USED_SHARE)
    return most


def _seconds(duration: str) -> float | None:
    if not 0 < len(duration) <= _MAX_DURATION_LENGTH or _DURATION.sub("", duration):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(duration)) or None
