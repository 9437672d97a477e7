"""What happens in a negotiation, in order, and the virtual time in which it does."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from resourceapi.objects import Object

_Field = tuple[str, ...]
#: Sections of objects that hold fields which belong to different writers.
_SECTIONS = ("metadata", "spec", "status")
#: Of these kinds, and of metadata, only some fields have to do with a negotiation.
_METADATA = frozenset(("finalizers", "deletionTimestamp"))
_OF_PODS = frozenset(("nodeName", "resourceClaimStatuses"))


class Change(NamedTuple):
    """A field before and after a write; None if it was, or is, not set."""

    field: str
    before: Any
    after: Any


class Write(NamedTuple):
    """A write to the API server.

    :ivar verb: such as ``create``, ``update``, ``update status``, ``delete``.
    :ivar name: of the object, with its namespace.
    """

    verb: str
    kind: str
    name: str
    changes: tuple[Change, ...]


class Entry(NamedTuple):
    """Something that happened.

    :ivar seconds: when, since the beginning.
    :ivar actor: who did it: ``kube-scheduler``, the name of a driver, …
    :ivar pod: which pod it is about, with its namespace.
    :ivar attempt: in which attempt to schedule the pod; 0 if in none.
    :ivar phase: an extension point of kube-scheduler, ``Queue``, or what a driver was asked.
    :ivar decision: what was decided or done; empty for a write.
    :ivar reason: why, where that is not obvious.
    :ivar nodes: of which nodes it was decided.
    :ivar write: what was written, if this is a write.
    """

    seconds: float
    actor: str
    pod: str
    attempt: int
    phase: str
    decision: str = ""
    reason: str = ""
    nodes: tuple[str, ...] = ()
    write: Write | None = None


@dataclass
class Timeline:
    """The entries in their order."""

    entries: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> None:
        """Add what has just happened."""
        self.entries.append(entry)

    def writes(self, *kinds: str) -> Iterator[Entry]:
        """The writes to objects of some kinds."""
        return (each for each in self.entries if each.write is not None and each.write.kind in kinds)


def changes(before: Object | None, after: Object | None) -> tuple[Change, ...]:
    """The fields that differ between two states of an object, of which either may not exist."""
    old, new = _fields(before or {}), _fields(after or {})
    return tuple(
        Change(".".join(name), old.get(name), new.get(name))
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )


def _fields(obj: Mapping[str, Any]) -> dict[_Field, Any]:
    is_pod = obj.get("kind") == "Pod"
    return {
        (section, name): value
        for section in _SECTIONS
        for name, value in (obj.get(section) or {}).items()
        if value not in (None, "", [], {}, False)
        and (section != "metadata" or name in _METADATA)
        and (not is_pod or name in _OF_PODS)
    }


# An event loop whose time passes only while nothing else is left to do: waiting takes no time at all.

_Result = TypeVar("_Result")


class NothingLeft(RuntimeError):
    """Everything waits for something that never happens."""


class _Selector(selectors.SelectSelector):
    """Instead of waiting for files, it lets the time pass."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise NothingLeft("nothing is going to happen any more")
        self.now += timeout
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its :meth:`time` begins with 0."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """The seconds since the beginning."""
        return self._virtual.now


def run(main: Coroutine[Any, Any, _Result]) -> _Result:
    """What a coroutine returns that is run in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def now() -> float:
    """The seconds since the beginning, to the microsecond."""
    return round(asyncio.get_running_loop().time(), 6)
