"""The devices and reservations that one pod gets on one node: assumed, written, and taken back if something fails."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

from cluster.leading import Fence
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from scheduler.claim_writes import ClaimWrites, Consumer, Target
from scheduler.cluster_picture import ClusterPicture


class Grant(NamedTuple):
    """The devices that a claim gets.

    :param allocation: an AllocationResult as the allocator has made it.
    """

    claim: Claim
    allocation: Object


class _Begun(NamedTuple):
    """A claim to which something may have been written, with the devices that it may have got; None if it had its own."""

    target: Target
    allocation: Object | None


class PodAllocation:
    """One attempt; for one thread at a time."""

    def __init__(
        self,
        picture: ClusterPicture,
        writes: ClaimWrites,
        consumer: Consumer,
        fence: Fence,
        grants: Sequence[Grant],
        allocated: Sequence[Claim],
    ) -> None:
        """Begin with nothing done.

        :param consumer: the pod.
        :param fence: raises NotLeading once another process may allocate.
        :param grants: its claims that get devices.
        :param allocated: its claims that have theirs, and are only to be reserved for it.
        """
        self._picture = picture
        self._writes = writes
        self._consumer = consumer
        self._fence = fence
        self._grants = grants
        self._allocated = allocated
        self._assumed: list[str] = []
        self._begun: list[_Begun] = []
        #: held while taking back: all who wait for one of the claims try
        self._taking_back = Lock()

    @property
    def keys(self) -> list[str]:
        """The claims, as ``namespace/name``."""
        return [each.key for each in (*(grant.claim for grant in self._grants), *self._allocated)]

    def assume(self) -> None:
        """Let the devices count as taken; needs the picture's lock."""
        for claim, allocation in self._grants:
            self._picture.claims.assume(claim.key, claim.uid, allocation)
            self._assumed.append(claim.key)

    def write(self) -> None:
        """Write all of it.

        :raises ClaimcheckError: if something cannot be written; what was is for :meth:`take_back`.
        """
        protected = [self._protect(*grant) for grant in self._grants]
        for target, claim, allocation in protected:
            self._writes.allocate(target, claim, allocation, self._consumer, self._fence)
        for each in self._allocated:
            if not each.is_reserved_for(self._consumer.uid):
                target = Target.of(each.object)
                self._begun.append(_Begun(target, None))
                self._writes.reserve(target, each.object, self._consumer, self._fence)

    def _protect(self, claim: Claim, allocation: Object) -> tuple[Target, Object, Object]:
        target = Target.of(claim.object)
        written = self._writes.written_form(target, allocation)
        self._begun.append(_Begun(target, written))
        return target, self._writes.protect(target, claim.object), written

    def release(self) -> None:
        """Count the devices of earlier attempts as those of this one, so that they are taken back, too."""
        for each in self._allocated:
            self._begun.append(_Begun(Target.of(each.object), each.object["status"]["allocation"]))

    def take_back(self) -> None:
        """Undo what may have been written, the last first; what is undone is not looked at again.

        :raises Unavailable: if it is not done: the devices count as taken until it is.
        :raises NotLeading: if it is for another process to do.
        """
        with self._taking_back:
            while self._begun:
                target, allocation = self._begun[-1]
                self._writes.take_back(target, self._consumer, allocation, self._fence)
                self._begun.pop()
        self.forget()

    def forget(self) -> None:
        """Let devices that are assumed count no longer."""
        with self._picture.lock:
            while self._assumed:
                self._picture.claims.forget(self._assumed.pop())
