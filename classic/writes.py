"""What a driver's controller reads and writes: claims, contexts, and events about what it could not do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from classic.claims import (
    because,
    finalizer_of,
    namespace_of,
    with_allocation,
    with_finalizer,
    without_allocation,
    without_finalizer,
)
from cluster.event_writer import Subject
from cluster.leading import Fence
from resourceapi.api_client import Unavailable
from resourceapi.manifests import name_of, uid_of
from resourceapi.model.versions import CLASSIC_API_VERSION
from resourceapi.objects import Object

# The objects that a driver's controller reads and writes: in a cluster, or in memory.


class Objects(Protocol):
    """The API server, as a controller needs it; what is read must not be changed.

    What has been written is read back from then on. Anything else that is read may be a little old. A write names the
    ``metadata.resourceVersion`` that was read, and returns the object as it is stored.
    """

    async def claim(self, namespace: str, name: str) -> Object | None:
        """A ResourceClaim; None if there is none."""

    async def resource_class(self, name: str) -> Object | None:
        """A ResourceClass; None if there is none."""

    async def context(self, namespace: str, name: str) -> Object | None:
        """A PodSchedulingContext; None if there is none."""

    async def pod(self, namespace: str, name: str) -> Object | None:
        """A pod, as it is now; None if there is none."""

    async def update_claim(self, claim: Object) -> Object:
        """Write all of a claim but its status.

        :raises Conflict: if it has changed; Unavailable if the API server does not answer, or refuses it.
        """

    async def update_claim_status(self, claim: Object) -> Object:
        """Write the status of a claim.

        :raises Conflict: if it has changed; Unavailable if the API server does not answer, or refuses it.
        """

    async def update_context_status(self, context: Object) -> Object:
        """Write the status of a PodSchedulingContext.

        :raises Conflict: if it has changed; Unavailable if the API server does not answer, or refuses it.
        """


# What a driver's controller writes; a controller that does not lead any more writes nothing.


class ClaimWrites:
    """Each write raises :class:`resourceapi.errors.WriteConflict`, SyncError, or NotLeading; it returns what is stored then."""

    def __init__(self, objects: Objects, driver_name: str, fence: Fence) -> None:
        """Describe who writes.

        :param fence: called right before each write.
        """
        self._objects = objects
        self._driver_name = driver_name
        self._fence = fence
        self.finalizer = finalizer_of(driver_name)

    async def add_finalizer(self, claim: Object) -> Object:
        """Protect a claim from deletion."""
        protected = with_finalizer(claim, self.finalizer)
        return await self._write("add finalizer", self._objects.update_claim, protected)

    async def remove_finalizer(self, claim: Object) -> Object:
        """Let a claim be deleted."""
        released = without_finalizer(claim, self.finalizer)
        return await self._write("remove finalizer", self._objects.update_claim, released)

    async def store_allocation(self, claim: Object, allocation: Object, consumer: Object | None) -> Object:
        """Give a claim an allocation.

        :param consumer: for whom it is reserved, if for anybody.
        """
        allocated = with_allocation(claim, self._driver_name, allocation, consumer)
        return await self._write("store allocation", self._objects.update_claim_status, allocated)

    async def remove_allocation(self, claim: Object) -> Object:
        """Take the allocation of a claim away, with the request to do so."""
        freed = without_allocation(claim)
        return await self._write("remove allocation", self._objects.update_claim_status, freed)

    async def store_context_status(self, context: Object) -> Object:
        """Tell the scheduler about unsuitable nodes."""
        return await self._write("store unsuitable nodes", self._objects.update_context_status, context)

    async def _write(self, what: str, write: Callable[[Object], Awaitable[Object]], obj: Object) -> Object:
        self._fence()
        try:
            return await write(obj)
        except Unavailable as error:
            raise because(what, error) from error


# Events about what a driver's controller could not do.

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


class FailureEvents:
    """What ``kubectl describe`` shows of failures; nothing if there are no events."""

    def __init__(self, events: Events | None) -> None:
        self._events = events

    def warn(self, kind: str, obj: Object, action: str, note: str) -> None:
        """Say what has failed.

        :param kind: of the object: what is read from a list does not say it.
        :param action: what was tried, in one word.
        """
        if self._events is None:
            return
        about = (API_VERSIONS[kind], kind, namespace_of(obj), name_of(obj), uid_of(obj))
        self._events.warn(Subject(*about, action, REASON), note)
