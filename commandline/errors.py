"""How a run ends: exit codes, and errors that end it without a report."""

from __future__ import annotations

from resourceapi.errors import ClaimcheckError, Unanswerable

SUCCESS = 0
#: The answer is negative: an object is invalid, does not fit, or cannot be converted.
NEGATIVE = 1
#: The command cannot be run, or some input could not be read.
UNFINISHED = 2
#: Ended by SIGINT.
INTERRUPTED = 130


class UsageError(Unanswerable):
    """Wrong options or unusable input; the message is for the user."""


class WorkerLost(ClaimcheckError):
    """A worker process ended too early; the message is for the user."""
