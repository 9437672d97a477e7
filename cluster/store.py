"""What a process holds of a cluster's objects: each collection once, decoded once, with listeners for what changes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from resourceapi.api_client import Listing
from resourceapi.logs import log
from resourceapi.manifests import key_of, mapping, text, uid_of
from resourceapi.objects import Object
from resourceapi.phrases import shortened

MAX_REASON = 200
Value = TypeVar("Value")


class Change(NamedTuple, Generic[Value]):
    """The object with a key before and after a change; None where there is none."""

    key: str
    before: Value | None
    after: Value | None


Listener = Callable[[Sequence[Change[Value]]], None]


class Collection(Generic[Value]):
    """The objects of one kind by key (``namespace/name``, or the name), in the form in which they are needed.

    ``objects`` stays the same mapping, and may be looked into by any thread while another one writes.  ``is_listed`` is
    False until all objects have been read once, and while the cluster does not serve the kind.  ``is_known`` is True as soon
    as they have been read, or the cluster has said that it does not serve the kind: then there are none.
    """

    def __init__(self, read: Callable[[Object], Value | None]) -> None:
        """Make an empty collection.

        :param read: turns an object, as an API server or a file has it, into what is held of it; returns None for one that
            cannot be read, which then counts as absent.
        """
        self.objects: dict[str, Value] = {}
        self.is_listed = self.is_known = False
        self._read = read
        self._listeners: list[Listener[Value]] = []
        self._lock = Lock()

    def listen(self, listener: Listener[Value]) -> None:
        """Call a listener with what is there, and then with every change, in their order.

        All changes of one call are of one moment.  It is called by the threads that write, one at a time, and must not
        write to the collection itself.
        """
        with self._lock:
            self._listeners.append(listener)
            if self.objects:
                listener([Change(key, None, value) for key, value in self.objects.items()])

    def replace(self, objects: Iterable[Object]) -> None:
        """Take these for all objects that there are; if iterating over them fails, everything stays as it was."""
        found = {key_of(obj): value for obj in objects if (value := self._value_of(obj)) is not None}
        with self._lock:
            changes = [Change(key, before, None) for key, before in self.objects.items() if key not in found]
            changes += [Change(key, self.objects.get(key), value) for key, value in found.items()]
            self._apply(self._believed(changes, objects))
            self.is_listed = self.is_known = True

    def put(self, obj: Object) -> None:
        """Add an object, or replace the one with its key."""
        self.set(key_of(obj), self._value_of(obj))

    def set(self, key: str, value: Value | None) -> None:
        """Put what is to be held of an object in its place; None removes it."""
        with self._lock:
            self._apply([Change(key, self.objects.get(key), value)])

    def remove(self, obj: Object) -> None:
        """Remove the object with this one's key, if there is one."""
        self.set(key_of(obj), None)

    def lose(self) -> None:
        """Forget everything: the cluster does not serve the kind any more."""
        with self._lock:
            self.is_listed = False
            self.is_known = True
            self._apply([Change(key, before, None) for key, before in self.objects.items()])

    def _value_of(self, obj: Object) -> Value | None:
        """What is held of an object; whatever is wrong with it, the others can be read."""
        try:
            return self._read(obj)
        except Exception as error:  # noqa: BLE001 - one object does not keep the others from being read
            reason = shortened(f"{type(error).__name__}: {error}", MAX_REASON)
            log(logging.WARNING, "object ignored", kind=text(obj, "kind"), name=key_of(obj), reason=reason)
            return None

    def _believed(self, changes: list[Change[Value]], listed: Iterable[Object]) -> Iterable[Change[Value]]:
        """Those of the changes that a list of all objects makes that are to be made."""
        return changes

    def _apply(self, changes: Iterable[Change[Value]]) -> None:
        real = [change for change in changes if change.before != change.after]
        for key, _, after in real:  # key by key, since others read meanwhile
            if after is None:
                del self.objects[key]
            else:
                self.objects[key] = after
        if real:
            for listener in self._listeners:
                listener(real)


class VersionedCollection(Collection[Value]):
    """A collection of objects with resourceVersions, into which answers to own writes may be put, too.

    Of two versions of an object the newer one counts, whichever comes first: an answer to a write may come before or after
    the watch event about it. A watch tells everything in its order, so an answer brings back nothing that is older than the last
    deletion of which it has told.
    """

    def __init__(self, read: Callable[[Object], Value | None], object_of: Callable[[Value], Object]) -> None:
        """Make an empty collection.

        :param read: as of any collection.
        :param object_of: an object with the ``metadata.uid`` and ``metadata.resourceVersion`` of what is held.
        """
        super().__init__(read)
        self._object_of = object_of
        #: up to which revision whatever is not here is gone
        self._told = 0

    def put(self, obj: Object) -> None:
        """Add an object, or replace an older version of it; what is known already is not read again."""
        self._put(obj)

    def update(self, obj: Object) -> None:
        """Replace an older version of an object; one that is gone by now stays so."""
        self._put(obj, only_if_held=True)

    def _put(self, obj: Object, *, only_if_held: bool = False) -> None:
        held = self.objects.get(key_of(obj))
        if held is not None and 0 < version_of(obj) <= self._version(held):
            return
        value = self._value_of(obj)
        with self._lock:
            change = Change(key_of(obj), self.objects.get(key_of(obj)), value)
            is_gone = change.before is None and (only_if_held or 0 < version_of(obj) <= self._told)
            self._apply([] if is_gone or self._is_older(change) else [change])

    def remove(self, obj: Object) -> None:
        """Remove an object of whose deletion the watch tells, unless another one of its name, or a newer version, is there by now."""
        self._remove(obj, version_of(obj))

    def drop(self, obj: Object) -> None:
        """The same where an answer to a write tells of it; the watch may still have to tell of what came before."""
        self._remove(obj)

    def _remove(self, obj: Object, told: int = 0) -> None:
        key = key_of(obj)
        with self._lock:
            self._told = max(self._told, told)
            held = self.objects.get(key)
            if held is None or uid_of(self._object_of(held)) != uid_of(obj):
                return
            if self._version(held) <= version_of(obj):
                self._apply([Change(key, held, None)])

    def _believed(self, changes: list[Change[Value]], listed: Iterable[Object]) -> Iterable[Change[Value]]:
        """An object that is newer than the list may have been created since."""
        revision = self._told = number_of(listed.revision) if isinstance(listed, Listing) else 0
        return [
            change
            for change in changes
            if not self._is_older(change)
            and not (
                change.before is not None
                and change.after is None
                and 0 < revision < self._version(change.before)
            )
        ]

    def _version(self, held: Value) -> int:
        return version_of(self._object_of(held))

    def _is_older(self, change: Change[Value]) -> bool:
        """Whether what would be put is older than what is there: another version of it, or its predecessor of the same name."""
        before, after = change.before, change.after
        return before is not None and after is not None and 0 < self._version(after) < self._version(before)


def version_of(obj: Object) -> int:
    """``metadata.resourceVersion`` as a number, which grows with every write in a cluster; 0 if it is none."""
    return number_of(text(mapping(obj, "metadata"), "resourceVersion"))


def number_of(revision: str) -> int:
    """A resourceVersion as a number; 0 if it is none."""
    return int(revision) if revision.isascii() and revision.isdigit() else 0
