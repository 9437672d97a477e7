"""What a driver has to do; :mod:`classic.controller` does the rest.

Objects are as the API server has them, in JSON, and must not be changed. A controller calls from one event loop: what blocks
belongs into :func:`asyncio.to_thread`. It never has two calls about the same claim at a time; calls about different claims
come at the same time. Whatever is raised is told in an event, and the call comes again after a pause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from resourceapi.objects import Object


@dataclass(eq=False)
class ClaimAllocation:
    """A claim of a pod, or one with immediate allocation, and what a driver says of it.

    :ivar pod_claim_name: the name in the pod's ``spec.resourceClaims``; empty for immediate allocation.
    :ivar claim_parameters: what :meth:`Driver.get_claim_parameters` has returned, and
    :ivar class_parameters: :meth:`Driver.get_class_parameters`.
    :ivar unsuitable_nodes: :meth:`Driver.unsuitable_nodes` puts the names of nodes there.
    :ivar allocation: :meth:`Driver.allocate` puts the AllocationResult there, or
    :ivar error: why the claim cannot be allocated.
    """

    pod_claim_name: str
    claim: Object
    resource_class: Object
    claim_parameters: object = None
    class_parameters: object = None
    unsuitable_nodes: list[str] = field(default_factory=list)
    allocation: Object | None = None
    error: Exception | None = None


@runtime_checkable
class Driver(Protocol):
    """Allocates what it knows of to claims whose class has its name."""

    async def get_class_parameters(self, resource_class: Object) -> object:
        """Read, and check, the parameters that a class refers to (``parametersRef``, which may be missing)."""

    async def get_claim_parameters(
        self, claim: Object, resource_class: Object, class_parameters: object
    ) -> object:
        """Read, and check, the parameters that a claim refers to (``spec.parametersRef``, which may be missing)."""

    async def allocate(self, claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        """Allocate each of the claims, and set its ``allocation`` or its ``error``.

        Called again for the same claims and node until the result is stored: then the result must be the same.

        :param claims: those of a pod that this driver serves and that are not allocated yet, or a single one.
        :param selected_node: the node for which to allocate; if empty, the driver is free to choose (immediate allocation).
        """

    async def deallocate(self, claim: Object) -> None:
        """Take back what a claim has, also if its allocation was not completed; nothing if it has nothing.

        Called again until that is stored.
        """

    async def unsuitable_nodes(
        self, pod: Object, claims: Sequence[ClaimAllocation], potential_nodes: Sequence[str]
    ) -> None:
        """Set the ``unsuitable_nodes`` of each claim: those of the potential nodes for which it cannot be allocated.

        A node that is not suitable for all the claims together is best given as unsuitable for all of them.

        :param claims: those of the pod that this driver serves and that are not allocated yet.
        :param potential_nodes: where the pod may run; the selected node is among them.
        """


@runtime_checkable
class Restored(Protocol):
    """A driver that keeps in memory what is allocated."""

    async def restore(self, claims: Sequence[Object]) -> None:
        """Learn what is allocated, before any other call of this process.

        :param claims: all that this driver has allocated (``status.driverName``, ``status.allocation``).
        """
