"""The releases whose answers are known: each by its minor number, with the patch release whose server was asked."""

from __future__ import annotations

#: The last release with classic DRA (v1alpha2); what 1.31 answers is not known.
CLASSIC_MINOR = 30
MEASURED = {CLASSIC_MINOR: 14, 32: 13, 33: 13, 34: 4, 35: 4, 36: 3, 37: 1}
MODERN_MINORS = tuple(minor for minor in MEASURED if minor > CLASSIC_MINOR)
OLDEST, NEWEST = MODERN_MINORS[0], MODERN_MINORS[-1]


def measured(minor: int) -> str:
    """The patch release whose server was asked what release 1.``minor`` answers, e.g. ``1.34.4``."""
    return f"1.{minor}.{MEASURED[minor]}"
