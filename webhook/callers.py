"""Who waits for the answer to a review, and for how long."""

from __future__ import annotations

import re
from typing import NamedTuple

from deviceselectors.request_budget import RequestBudget

_MAX_DURATION_LENGTH = 32
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?)(h|ms|m|us|µs|ns|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
# An answer has to come before nobody waits for it any more; API servers round their timeout up to whole seconds.
_USED_SHARE = 0.9


class Caller(NamedTuple):
    """One client with one review.

    ``doubt``: why it may be somebody else than the API server; empty if its certificate says so.  ``budget``: what may
    be spent on its review.  ``size``: bytes of the review.  ``is_stranger``: whether API servers could be known by their
    certificate, and it is none of them.
    """

    doubt: str
    budget: RequestBudget
    size: int = 0
    is_stranger: bool = False


def seconds_to_answer(query: str, most: float) -> float:
    """How long the answer to a request with this query (``timeout=10s``, a Go duration) may take.

    :param most: in seconds, whatever the client says, or if it says nothing that can be understood.
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
