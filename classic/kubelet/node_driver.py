"""What a driver does on a node; :mod:`classic.kubelet.plugin` does the rest.

Methods run on an event loop that also answers kubelet: what blocks belongs into :func:`asyncio.to_thread`. There are never two
calls about the same claim at a time; calls about different claims come at the same time.

A call that takes too long, or for which kubelet no longer waits, is cancelled. Whatever is raised is the claim's error: kubelet puts
it into an event of the pod, and asks again. A :class:`~classic.kubelet.claims.RefusedClaim` is told as it is, anything else with the
name of its class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from classic.kubelet.cdi import Device
from classic.kubelet.claims import AllocatedClaim


class NodeDriver(Protocol):
    """Makes what was allocated to claims usable on this node."""

    async def prepare(self, claim: AllocatedClaim) -> Sequence[Device | str]:
        """Make the devices of a claim ready for its containers.

        Called before the first container that uses the claim starts, and again whenever kubelet has been restarted: what is
        ready must stay as it is, and the result must be the same. Where a preparation fails, kubelet 1.30 never asks to undo it:
        what was begun must be undone before the error is raised.

        :returns: devices, which the plugin describes to the container runtime; a text is the full name
            (``vendor/class=device``) of one that somebody else describes
        """
        ...

    async def unprepare(self, claim: AllocatedClaim) -> None:
        """Undo what :meth:`prepare` did, once no pod on the node uses the claim; not an error if nothing is left to undo."""
        ...
