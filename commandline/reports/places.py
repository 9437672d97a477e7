"""Where something is, as reports name it."""

from __future__ import annotations

#: How the name of a chart ends that Helm has rendered.
RENDERED = " (rendered)"


def place(file: str, line: int) -> str:
    """``claim.yaml:3``; objects of a live cluster have no lines."""
    return f"{file}:{line}" if line else file


def in_repository(file: str) -> str:
    """A file as a host of repositories knows it: without the ``./`` of a search in ``.``."""
    return file.removeprefix("./")
