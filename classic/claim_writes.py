"""What a driver's controller writes; a controller that does not lead any more writes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from classic.claims import (
    finalizer_of,
    with_allocation,
    with_finalizer,
    without_allocation,
    without_finalizer,
)
from classic.errors import because
from classic.objects import Objects
from cluster.leading import Fence
from resourceapi.api_client import Unavailable
from resourceapi.objects import Object


class ClaimWrites:
    """Each write raises :class:`resourceapi.errors.Conflict`, SyncError, or NotLeading; it returns what is stored then."""

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
