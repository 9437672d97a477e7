"""A file that is migrated."""

from __future__ import annotations

from typing import NamedTuple


class File(NamedTuple):
    """A file before and after."""

    name: str
    text: str
    migrated: str
