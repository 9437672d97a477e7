"""The objects that a driver's controller reads and writes: in a cluster, or in memory."""

from __future__ import annotations

from typing import Protocol

from resourceapi.objects import Object


class Objects(Protocol):
    """The API server, as a controller needs it; what is read must not be changed.

    What has been written is read back from then on. Anything else that is read may be a little old. A write names the
    ``metadata.resourceVersion`` that was read, and returns the object as it is stored.
    """

    async def claim(self, namespace: str, name: str) -> Object | None:
        """A ResourceClaim; None if there is none."""
        ...

    async def resource_class(self, name: str) -> Object | None:
        """A ResourceClass; None if there is none."""
        ...

    async def context(self, namespace: str, name: str) -> Object | None:
        """A PodSchedulingContext; None if there is none."""
        ...

    async def pod(self, namespace: str, name: str) -> Object | None:
        """A pod, as it is now; None if there is none."""
        ...

    async def update_claim(self, claim: Object) -> Object:
        """Write all of a claim but its status.

        :raises Conflict: if it has changed; Unavailable if the API server does not answer, or refuses it.
        """
        ...

    async def update_claim_status(self, claim: Object) -> Object:
        """Write the status of a claim.

        :raises Conflict: if it has changed; Unavailable if the API server does not answer, or refuses it.
        """
        ...

    async def update_context_status(self, context: Object) -> Object:
        """Write the status of a PodSchedulingContext.

        :raises Conflict: if it has changed; Unavailable if the API server does not answer, or refuses it.
        """
        ...
