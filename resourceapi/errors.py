"""The root of the project's exceptions."""

from __future__ import annotations


class ClaimcheckError(Exception):
    """Something that Claimcheck was asked to do and cannot; the text is for people."""
