"""The root of the project's exceptions."""

from __future__ import annotations


class ClaimcheckError(Exception):
    """Claimcheck cannot do what it was asked to; the text is for people.

    What a package raises for its callers to catch derives from it, but for :mod:`documents`, which knows no other package,
    and for what other packages never see.
    """


class Unanswerable(ClaimcheckError):
    """A question that has no answer, because of what is asked or of what is known; the message is for the user.

    :ivar hint: what the user can do about it, on lines of its own.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
