"""Changes that can be taken back, for a search that goes back."""

from __future__ import annotations

from typing import Any


class Trail:
    """Notes what every change of a mapping replaced."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        self._changes: list[tuple[dict[Any, Any], Any, Any]] = []

    def mark(self) -> int:
        """A point to go back to."""
        return len(self._changes)

    def set(self, mapping: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an entry; values must not be changed in place."""
        self._changes.append((mapping, key, mapping.get(key, _ABSENT)))
        mapping[key] = value

    def undo(self, mark: int) -> None:
        """Take back all changes since `mark`."""
        while len(self._changes) > mark:
            mapping, key, before = self._changes.pop()
            if before is _ABSENT:
                del mapping[key]
            else:
                mapping[key] = before


_ABSENT = object()
