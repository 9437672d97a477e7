"""Events about what a driver's controller could not do."""

from __future__ import annotations

from typing import Protocol

from classic.claims import namespace_of
from cluster.event_writer import Subject
from resourceapi.manifests import name_of, uid_of
from resourceapi.model.versions import CLASSIC_API_VERSION
from resourceapi.objects import Object

REASON = "Failed"
#: The API version of each kind that events are about.
API_VERSIONS = {
    "ResourceClaim": CLASSIC_API_VERSION,
    "ResourceClass": CLASSIC_API_VERSION,
    "PodSchedulingContext": CLASSIC_API_VERSION,
    "Pod": "v1",
}


class Events(Protocol):
    """Where events are written (:class:`cluster.event_writer.EventWriter`)."""

    def warn(self, subject: Subject, note: str) -> None:
        """Say what is wrong with an object, in any length and with any characters; returns at once."""
        ...


class NoEvents:
    """Nobody is told."""

    def warn(self, subject: Subject, note: str) -> None:
        """Say nothing."""


class FailureEvents:
    """What ``kubectl describe`` shows of failures."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def warn(self, kind: str, obj: Object, action: str, note: str) -> None:
        """Say what has failed.

        :param kind: of the object: what is read from a list does not say it.
        :param action: what was tried, in one word.
        """
        about = (API_VERSIONS[kind], kind, namespace_of(obj), name_of(obj), uid_of(obj))
        self._events.warn(Subject(*about, action, REASON), note)
