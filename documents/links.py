"""Where symbolic links lead: only what is below a directory belongs to it."""

from __future__ import annotations

import os


def is_below(directory: str, path: str) -> bool:
    """Whether a path, with all links followed, leads to the directory or into it."""
    top = os.path.realpath(directory)
    try:
        return os.path.commonpath((top, os.path.realpath(path))) == top
    except ValueError:  # another drive, a NUL
        return False


def leads_to_hidden(directory: str, path: str) -> bool:
    """Whether a path below a directory, with all links followed, is hidden there.

    What the kubelet mounts is not: its names begin with two dots.
    """
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(directory))
    return any(
        part.startswith(".") and not part.startswith("..") and part != os.curdir
        for part in inside.split(os.sep)
    )
