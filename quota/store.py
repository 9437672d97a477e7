"""Storage of ledgers: objects with a version, which only those can replace who have read the latest one."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from resourceapi.objects import Object


class Stored(NamedTuple):
    """An object's content (JSON) and its version: an opaque string that differs after every change."""

    content: Object
    version: str


class Store(Protocol):
    """Objects by key (a namespace).  All reads see every write that was finished before."""

    def get(self, key: str) -> Stored | None:
        """The object, or None if there is none."""

    def create(self, key: str, content: Object) -> None:
        """Store a new object. Raises Conflict if there is one."""

    def replace(self, key: str, content: Object, version: str) -> None:
        """Replace the object of that version. Raises Conflict if it has another one or is gone."""

    def delete(self, key: str, version: str) -> None:
        """Delete the object of that version. Raises Conflict if it has another one; none is fine."""

    def keys(self) -> list[str]:
        """The keys of all objects."""
