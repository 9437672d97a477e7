"""Errors that end a run without a report."""

from __future__ import annotations

from resourceapi.errors import ClaimcheckError


class UsageError(ClaimcheckError):
    """Wrong options or unusable input; the message is for the user.

    :ivar hint: what the user can do about it, on lines of its own.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class WorkerLost(ClaimcheckError):
    """A worker process ended too early; the message is for the user."""
