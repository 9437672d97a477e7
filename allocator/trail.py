"""A log of changes to mappings, so that a search can undo them when it backtracks."""

from __future__ import annotations

from typing import Any


class Trail:
    """Records the value that each change of a mapping replaced."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        self._changes: list[tuple[dict[Any, Any], Any, Any]] = []

    def mark(self) -> int:
        """A point to which :meth:`undo` can return."""
        return len(self._changes)

    def set(self, mapping: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an entry. Values must be immutable."""
        self._changes.append((mapping, key, mapping.get(key, _ABSENT)))
        mapping[key] = value

    def undo(self, mark: int) -> None:
        """Undo all changes since `mark`."""
        while len(self._changes) > mark:
            mapping, key, before = self._changes.pop()
            if before is _ABSENT:
                del mapping[key]
            else:
                mapping[key] = before


_ABSENT = object()
