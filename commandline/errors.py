"""Errors that end a run without a report."""

from __future__ import annotations


class UsageError(Exception):
    """Wrong options or unusable input; the message is for the user."""


class WorkerLost(Exception):
    """A worker process ended too early; the message is for the user."""
