"""What this program is called on the package index, and which version of it is installed."""

from __future__ import annotations

#: The name ``claimcheck`` belongs to somebody else there; the command is called ``claimcheck`` all the same.
NAME = "claimcheck-dra"


def version() -> str:
    """The version that is installed."""
    from importlib.metadata import version

    return version(NAME)
