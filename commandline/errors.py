"""Errors that end a run without a report."""

from __future__ import annotations

from resourceapi.errors import ClaimcheckError, Unanswerable


class UsageError(Unanswerable):
    """Wrong options or unusable input; the message is for the user."""


class WorkerLost(ClaimcheckError):
    """A worker process ended too early; the message is for the user."""
