"""Events (events.k8s.io), as ``kubectl describe`` shows them: one for the same words about an object, with a count."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from threading import Event, Lock
from time import monotonic
from typing import NamedTuple

from cluster.turns import Turns
from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, Unavailable, expect
from resourceapi.logs import log
from resourceapi.objects import Object
from resourceapi.printable import is_printable
from resourceapi.times import micro_now

# Texts for users of pods, in events and in what kube-scheduler is answered, which it writes into the pods'
# status.
# They quote what drivers and tenants have written: messages of conditions, errors of expressions, values
# in them.

#: What API servers accept at most as the note of an event.
MOST_BYTES = 1024


def shown(text: str) -> str:
    """A text that can be shown anywhere, no longer than the note of an event may be; one that was longer ends in an ellipsis."""
    escaped = "".join(each if is_printable(each) else _escaped(each) for each in text[:MOST_BYTES])
    encoded = escaped.encode()
    if len(encoded) <= MOST_BYTES and len(text) <= MOST_BYTES:
        return escaped
    return encoded[: MOST_BYTES - len("…".encode())].decode(errors="ignore") + "…"


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


API_VERSION = "events.k8s.io/v1"
#: What API servers accept at most, in characters.
INSTANCE_LENGTH, NAME_LENGTH = 128, 253
#: Where events are about objects that are in no namespace.
OF_NO_NAMESPACE = "default"
#: How many objects are remembered, the latest, and how many wait for their event, those of each namespace in turn.
MOST_OBJECTS, MOST_QUEUED = 10_000, 1_000
WRITES_PER_SECOND = 5
#: How long the same words about an object are counted before the count is written.
COUNTING_SECONDS = 60.0


class Subject(NamedTuple):
    """What events are about.

    :param namespace: empty for an object that is in none.
    :param action: what has failed, and
    :param reason: that it has, both in one word.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    action: str
    reason: str

    @property
    def home(self) -> str:
        """The namespace of the events."""
        return self.namespace or OF_NO_NAMESPACE


@dataclass
class _Told:
    """The last event about an object.

    :ivar name: of the event.
    :ivar count: how many times its words were said, and :ivar written: how many of them the event has.
    """

    note: str
    name: str = ""
    count: int = 0
    written: int = 0
    written_at: float = 0.0


class EventWriter:
    """Writes events, a few per second; nobody waits for that. An event that cannot be written is left out."""

    def __init__(
        self,
        api: Api,
        controller: str,
        instance: str,
        clock: Callable[[], float] = monotonic,
        per_second: int = WRITES_PER_SECOND,
    ) -> None:
        """Make it ready; :meth:`run` writes.

        :param controller: who speaks, a qualified name, and
        :param instance: which replica of it.
        :param per_second: so many events at most.
        """
        #: how many events were written, and how many could not be
        self.written = self.failed = 0
        self._pause = 1 / per_second
        self._api = api
        self._controller = controller
        self._instance = instance[:INSTANCE_LENGTH]
        self._clock = clock
        self._lock = Lock()  # for the next two
        self._told: OrderedDict[str, _Told] = OrderedDict()
        self._queue: Turns[Subject] = Turns(MOST_QUEUED)
        self._queued = Event()

    def warn(self, subject: Subject, note: str) -> None:
        """Say what is wrong with an object; the same words once more are counted.

        :param note: in any length and of any characters.
        """
        note = shown(note)
        with self._lock:
            told = self._told.pop(subject.uid, None)
            if told is None or told.note != note:
                told = _Told(note)
            told.count += 1
            self._told[subject.uid] = told
            if len(self._told) > MOST_OBJECTS:
                self._told.popitem(last=False)
            if told.written and self._clock() - told.written_at < COUNTING_SECONDS:
                return
            self._queue.put(subject.namespace, subject.uid, subject)
        self._queued.set()

    def run(self, ending: Event) -> None:
        """Write events until told to end."""
        while not ending.wait(self._pause):
            if not self.write_next():
                self._queued.clear()
                self._queued.wait(1.0)

    def write_next(self) -> bool:
        """Write one event; whether there was one to write."""
        with self._lock:
            subject = self._queue.take()
            if subject is None:
                return False
            told = self._told.get(subject.uid)
            if told is None:
                return True
            count, name = told.count, told.name
            told.written_at = self._clock()
        try:
            name = self._write(subject, told.note, name, count)
        except Unavailable as error:
            self.failed += 1
            about = f"{subject.namespace}/{subject.name}".lstrip("/")
            log(logging.WARNING, "event not written", kind=subject.kind, name=about, reason=error.reason)
            return True
        self.written += 1
        with self._lock:
            told.name, told.written = name, count
        return True

    def _write(self, subject: Subject, note: str, name: str, count: int) -> str:
        """Make an event, or write how many times it was said; its name.

        Who has led before may have said the same, or this replica before it said something else: the name tells.
        """
        collection = f"/apis/{API_VERSION}/namespaces/{subject.home}/events"
        if name and self._is_counted(f"{collection}/{name}", count):
            return name
        name = _name_of(subject, note)
        answer = self._api.request("POST", collection, self._event(subject, note, name, count))
        if answer[0] == CONFLICT and self._is_counted(f"{collection}/{name}", max(count, 2)):
            return name
        expect(answer, f"POST {collection}", CREATED)
        return name

    def _is_counted(self, path: str, count: int) -> bool:
        """Write into an event how many times it was said; False if it is gone."""
        answer = self._api.request("PATCH", path, {"series": _series(count)})
        if answer[0] == NOT_FOUND:
            return False
        expect(answer, f"PATCH {path}", OK)
        return True

    def _event(self, subject: Subject, note: str, name: str, count: int) -> Object:
        regarding = {
            "apiVersion": subject.api_version,
            "kind": subject.kind,
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        }
        event: Object = {
            "apiVersion": API_VERSION,
            "kind": "Event",
            "metadata": {"name": name, "namespace": subject.home},
            "eventTime": micro_now(),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": subject.action,
            "reason": subject.reason,
            "type": "Warning",
            "regarding": {key: value for key, value in regarding.items() if value},
            "note": note,
        }
        return {**event, "series": _series(count)} if count > 1 else event


def _name_of(subject: Subject, note: str) -> str:
    """The same for the same words about an object, whoever writes them."""
    suffix = f".{sha256(f'{subject.uid} {note}'.encode()).hexdigest()[:16]}"
    return subject.name[: NAME_LENGTH - len(suffix)].rstrip("-.") + suffix


def _series(count: int) -> Object:
    return {"count": count, "lastObservedTime": micro_now()}
