"""What ends a run before there is anything to report."""

from __future__ import annotations


class UsageError(Exception):
    """The command cannot do what it was asked to; the text is for the user."""


class WorkerLost(Exception):
    """A process that did a part of the work has ended too early; the text is for the user."""
