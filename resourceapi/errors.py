"""The root of the project's exceptions."""

from __future__ import annotations


class ClaimcheckError(Exception):
    """Claimcheck cannot do what it was asked to; the text is for people.

    What a package raises for its callers to catch derives from it, but for :mod:`documents`, which knows no other package,
    and for what other packages never see.
    """
