"""Events about pods (events.k8s.io), as ``kubectl describe pod`` shows them: one for the same words, with a count."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event, Lock
from time import monotonic
from uuid import uuid4

from resourceapi.api_client import CREATED, NOT_FOUND, OK, Api, Unavailable, expect
from resourceapi.logs import log
from resourceapi.objects import Object
from resourceapi.timestamps import in_microseconds
from scheduler.pods import PodRecord
from scheduler.shown_text import shown
from scheduler.turns import Turns

API_VERSION = "events.k8s.io/v1"
#: kube-scheduler's own events have the name of its profile there, which is ``claimcheck`` by default.
CONTROLLER = "claimcheck-scheduler"
#: What API servers accept at most, in characters.
INSTANCE_LENGTH, NAME_LENGTH = 128, 253
#: How many pods are remembered, the latest, and how many wait for their event, those of each namespace in turn.
MOST_PODS, MOST_QUEUED = 10_000, 1_000
WRITES_PER_SECOND = 5
#: How long the same words about a pod are counted before the count is written.
COUNTING_SECONDS = 60.0


@dataclass
class _Told:
    """The last event about a pod.

    :ivar name: of the event.
    :ivar count: how many times its words were said, and :ivar written: how many of them the event has.
    """

    note: str
    name: str = ""
    count: int = 0
    written: int = 0
    written_at: float = 0.0


class PodEvents:
    """Writes events, a few per second; nobody waits for that. An event that cannot be written is left out."""

    def __init__(self, api: Api, instance: str, clock: Callable[[], float] = monotonic) -> None:
        """Make it ready; :meth:`run` writes.

        :param instance: which replica speaks.
        """
        self._api = api
        self._instance = instance[:INSTANCE_LENGTH]
        self._clock = clock
        self._lock = Lock()
        self._told: OrderedDict[str, _Told] = OrderedDict()
        self._queue: Turns[PodRecord] = Turns(MOST_QUEUED)
        self._queued = Event()

    def warn(self, pod: PodRecord, note: str) -> None:
        """Say why a pod is not scheduled; the same words once more are counted.

        :param note: in any length and of any characters.
        """
        note = shown(note)
        with self._lock:
            told = self._told.pop(pod.uid, None)
            if told is None or told.note != note:
                told = _Told(note)
            told.count += 1
            self._told[pod.uid] = told
            if len(self._told) > MOST_PODS:
                self._told.popitem(last=False)
            if told.written and self._clock() - told.written_at < COUNTING_SECONDS:
                return
            self._queue.put(pod.namespace, pod.uid, pod)
        self._queued.set()

    def run(self, ending: Event) -> None:
        """Write events until told to end."""
        while not ending.wait(1 / WRITES_PER_SECOND):
            if not self.write_next():
                self._queued.clear()
                self._queued.wait(1.0)

    def write_next(self) -> bool:
        """Write one event; whether there was one to write."""
        with self._lock:
            pod = self._queue.take()
            if pod is None:
                return False
            told = self._told.get(pod.uid)
            if told is None:
                return True
            count, name = told.count, told.name
            told.written_at = self._clock()
        try:
            name = self._write(pod, told.note, name, count)
        except Unavailable as error:
            log(logging.WARNING, "event not written", pod=pod.key, reason=error.reason)
            return True
        with self._lock:
            told.name, told.written = name, count
        return True

    def _write(self, pod: PodRecord, note: str, name: str, count: int) -> str:
        """Make an event, or write how many times it was said; its name."""
        collection = f"/apis/{API_VERSION}/namespaces/{pod.namespace}/events"
        series = {"count": count, "lastObservedTime": _now()}
        if name:
            answer = self._api.request("PATCH", f"{collection}/{name}", {"series": series})
            if answer[0] != NOT_FOUND:
                expect(answer, f"PATCH {collection}/{name}", OK)
                return name
        suffix = f".{uuid4().hex[:16]}"
        name = pod.name[: NAME_LENGTH - len(suffix)].rstrip("-.") + suffix
        body = {**self._event(pod, note, name), **({"series": series} if count > 1 else {})}
        expect(self._api.request("POST", collection, body), f"POST {collection}", CREATED)
        return name

    def _event(self, pod: PodRecord, note: str, name: str) -> Object:
        return {
            "apiVersion": API_VERSION,
            "kind": "Event",
            "metadata": {"name": name, "namespace": pod.namespace},
            "eventTime": _now(),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "action": "Scheduling",
            "reason": "FailedScheduling",
            "type": "Warning",
            "regarding": {
                "apiVersion": "v1",
                "kind": "Pod",
                "namespace": pod.namespace,
                "name": pod.name,
                "uid": pod.uid,
            },
            "note": note,
        }


def _now() -> str:
    return in_microseconds(datetime.now(UTC))
