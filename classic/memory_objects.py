"""The objects of a small cluster in memory, with the rules of an API server on which controllers rely.

Versions of objects, conflicts, finalizers, and the status of an object as a resource of its own. Nothing is validated.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

from resourceapi.errors import WriteConflict
from resourceapi.manifests import entries, full_name, key_of, mapping, text
from resourceapi.objects import Object


class Write(NamedTuple):
    """A write that was made.

    :ivar verb: ``create``, ``update``, ``update status`` or ``delete``.
    :ivar before: None for a new object.
    :ivar after: None for one that is gone.
    """

    verb: str
    kind: str
    before: Object | None
    after: Object | None


class MemoryObjects:
    """Implements :class:`classic.writes.Objects`; the other methods are for whoever plays the rest of the cluster."""

    def __init__(self) -> None:
        self.writes: list[Write] = []
        self.listeners: list[Callable[[Write], None]] = []
        self._objects: dict[tuple[str, str], Object] = {}
        self._version = 0

    # --- what a controller asks for

    async def claim(self, namespace: str, name: str) -> Object | None:
        """A ResourceClaim."""
        return self.get("ResourceClaim", namespace, name)

    async def resource_class(self, name: str) -> Object | None:
        """A ResourceClass."""
        return self.get("ResourceClass", "", name)

    async def context(self, namespace: str, name: str) -> Object | None:
        """A PodSchedulingContext."""
        return self.get("PodSchedulingContext", namespace, name)

    async def pod(self, namespace: str, name: str) -> Object | None:
        """A pod."""
        return self.get("Pod", namespace, name)

    async def update_claim(self, claim: Object) -> Object:
        """Write all of a claim but its status."""
        return self.update("ResourceClaim", claim)

    async def update_claim_status(self, claim: Object) -> Object:
        """Write the status of a claim."""
        return self.update_status("ResourceClaim", claim)

    async def update_context_status(self, context: Object) -> Object:
        """Write the status of a PodSchedulingContext."""
        return self.update_status("PodSchedulingContext", context)

    # --- what everybody does

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        """An object, to be read only."""
        return self._objects.get((kind, full_name(namespace, name)))

    def all(self, kind: str) -> list[Object]:
        """All objects of a kind, to be read only."""
        return [obj for (found, _), obj in self._objects.items() if found == kind]

    def create(self, obj: Object) -> Object:
        """Store a new object, with a uid if it has none.

        :raises WriteConflict: if there is one of its name.
        """
        kind, metadata = text(obj, "kind"), mapping(obj, "metadata")
        place = (kind, key_of(obj))
        if place in self._objects:
            raise WriteConflict(f"{kind} {place[1]} already exists")
        uid = text(metadata, "uid") or f"uid-{self._version + 1}"
        return self._store("create", place, {**obj, "metadata": {**metadata, "uid": uid}})

    def update(self, kind: str, obj: Object) -> Object:
        """Write all of an object but its status; one that was deleted goes with its last finalizer.

        :raises WriteConflict: unless its resourceVersion is the stored one.
        """
        before = self._current(kind, obj)
        after = _with_status(obj, before)
        metadata = mapping(after, "metadata")
        if metadata.get("deletionTimestamp") and not entries(metadata, "finalizers"):
            self._remove((kind, key_of(obj)))
            return after
        return self._store("update", (kind, key_of(obj)), after)

    def update_status(self, kind: str, obj: Object) -> Object:
        """Write the status of an object.

        :raises WriteConflict: unless its resourceVersion is the stored one.
        """
        before = self._current(kind, obj)
        return self._store("update status", (kind, key_of(obj)), _with_status(before, obj))

    def delete(self, kind: str, namespace: str, name: str, now: str = "2026-01-01T00:00:00Z") -> None:
        """Delete an object, if there is one; finalizers keep it until they are gone.

        :param now: the time of the deletion.
        """
        place = (kind, full_name(namespace, name))
        found = self._objects.get(place)
        if found is None:
            return
        metadata = mapping(found, "metadata")
        if not entries(metadata, "finalizers"):
            self._remove(place)
        elif not metadata.get("deletionTimestamp"):
            self._store("delete", place, {**found, "metadata": {**metadata, "deletionTimestamp": now}})

    def _current(self, kind: str, obj: Object) -> Object:
        stored = self._objects.get((kind, key_of(obj)))
        if stored is None or _version(stored) != _version(obj):
            raise WriteConflict(f"{kind} {key_of(obj)}: the object has been modified")
        return stored

    def _store(self, verb: str, place: tuple[str, str], obj: Object) -> Object:
        before = self._objects.get(place)
        if before is not None and {**obj, "metadata": _unversioned(obj)} == {
            **before,
            "metadata": _unversioned(before),
        }:
            return before
        self._version += 1
        after = copy.deepcopy(obj)
        after["metadata"] = {**mapping(after, "metadata"), "resourceVersion": str(self._version)}
        self._objects[place] = after
        self._tell(Write(verb, place[0], before, after))
        return after

    def _remove(self, place: tuple[str, str]) -> None:
        self._version += 1
        self._tell(Write("delete", place[0], self._objects.pop(place), None))

    def _tell(self, write: Write) -> None:
        self.writes.append(write)
        for listener in self.listeners:
            listener(write)


def _with_status(obj: Object, other: Object) -> Object:
    """An object with the status of another one."""
    rest = {key: value for key, value in obj.items() if key != "status"}
    return {**rest, "status": other["status"]} if other.get("status") else rest


def _version(obj: Object) -> str:
    return text(mapping(obj, "metadata"), "resourceVersion")


def _unversioned(obj: Object) -> Object:
    return {key: value for key, value in mapping(obj, "metadata").items() if key != "resourceVersion"}
