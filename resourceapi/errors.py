"""The root of the project's exceptions."""

from __future__ import annotations


class ClaimcheckError(Exception):
    """Claimcheck cannot do what it was asked to. The text is for people, as is ``hint``: what they can do about it, if that is known."""

    # What a package raises for its callers to catch derives from it, but for `documents`, which knows no other package, and for
    # what other packages never see.
    hint = ""


class Unanswerable(ClaimcheckError):
    """A question that has no answer, because of what is asked or of what is known."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class WriteConflict(ClaimcheckError):
    """A write was refused: the object has changed since it was read, is there already or gone, or may not be so."""
