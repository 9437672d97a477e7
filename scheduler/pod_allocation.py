"""The devices and reservations that one pod gets on one node: assumed, written, and taken back if something fails.

Who works on which claims, and what is still to be taken back from an attempt that failed, is known to `Undoing`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Condition, Event, Lock
from types import MappingProxyType
from typing import NamedTuple

from cluster.leading import Fence, NotLeading
from resourceapi.api_client import Unavailable
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import LOGGER, log
from resourceapi.objects import Object
from resourceapi.records.claims import Claim, Consumer, allocation_of, pod_served_by
from scheduler.claim_ledger import Assumed
from scheduler.claim_writes import ClaimWrites, Target
from scheduler.cluster_picture import ClusterPicture


class Grant(NamedTuple):
    """The devices that a claim gets.

    :param allocation: an AllocationResult as the allocator has made it.
    :param body: the claim as it is to be created, if it does not exist yet.
    """

    claim: Claim
    allocation: Object
    body: Object | None = None


class _Begun(NamedTuple):
    """A claim to which something may have been written, with the devices that it may have got; None if it had its own.

    :param is_made: whether it was made for the pod, and goes with it.
    """

    target: Target
    allocation: Object | None
    is_made: bool = False


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
        shared: Mapping[str, Consumer] = MappingProxyType({}),
    ) -> None:
        """Begin with nothing done.

        :param consumer: the pod.
        :param fence: raises NotLeading once another process may allocate.
        :param grants: its claims that get devices.
        :param allocated: its claims that have theirs, and are only to be reserved for it.
        :param shared: for whom those are reserved instead that it shares with its PodGroup, by key. They are not taken back:
            other pods of the group may use them.
        """
        self._picture = picture
        self._writes = writes
        self._consumer = consumer
        self._fence = fence
        self._grants = grants
        self._allocated = allocated
        self._shared = shared
        #: what is assumed for each claim, by key
        self._assumed: dict[str, Assumed] = {}
        self._begun: list[_Begun] = []
        #: held while taking back: all who wait for one of the claims try
        self._taking_back = Lock()

    @property
    def keys(self) -> list[str]:
        """The claims, as ``namespace/name``."""
        return [each.key for each in (*(grant.claim for grant in self._grants), *self._allocated)]

    def assume(self) -> None:
        """Let the devices count as taken; needs the picture's lock."""
        for each in self._grants:
            self._assume(each.claim.key, each.claim.uid, each.allocation)

    def _assume(self, key: str, uid: str, allocation: Object) -> None:
        self._assumed[key] = self._picture.claims.assume(key, uid, allocation)

    def write(self) -> None:
        """Write all of it.

        :raises ClaimcheckError: if something cannot be written; what was is for :meth:`take_back`.
        """
        protected = [
            self._protect(each.claim, each.allocation)
            if each.body is None
            else self._make(each.body, each.allocation)
            for each in self._grants
        ]
        for target, claim, allocation in protected:
            self._writes.allocate(target, claim, allocation, self._consumer_of(target.key), self._fence)
        for each in self._allocated:
            consumer = self._consumer_of(each.key)
            if not each.is_reserved_for(consumer.uid):
                target = Target.of(each.object)
                self._begin(target, None)
                self._writes.reserve(target, each.object, consumer, self._fence)

    def _protect(self, claim: Claim, allocation: Object) -> tuple[Target, Object, Object]:
        target = Target.of(claim.object)
        written = self._writes.written_form(target, allocation)
        self._begin(target, written)
        return target, self._writes.protect(target, claim.object), written

    def _make(self, body: Object, allocation: Object) -> tuple[Target, Object, Object]:
        self._begun.append(_Begun(Target.of(body), allocation, is_made=True))
        claim = self._writes.make(body, self._consumer, self._fence)
        target = Target.of(claim)
        with self._picture.lock:
            self._assume(target.key, target.uid, allocation)
        return target, claim, self._writes.written_form(target, allocation)

    def _begin(self, target: Target, allocation: Object | None) -> None:
        """Note what is to be taken back if something fails."""
        if target.key not in self._shared:
            self._begun.append(_Begun(target, allocation))

    def _consumer_of(self, key: str) -> Consumer:
        return self._shared.get(key, self._consumer)

    def release(self) -> None:
        """Count the devices of earlier attempts as those of this one, so that they are taken back, too."""
        for each in self._allocated:
            is_made = pod_served_by(each.object) == (self._consumer.name, self._consumer.uid)
            self._begun.append(_Begun(Target.of(each.object), allocation_of(each.object), is_made))

    def take_back(self) -> None:
        """Undo what may have been written, the last first; what is undone is not looked at again.

        :raises Unavailable: if it is not done: the devices count as taken until it is.
        :raises NotLeading: if it is for another process to do.
        """
        with self._taking_back:
            while self._begun:
                target, allocation, is_made = self._begun[-1]
                if is_made:
                    self._writes.unmake(target, self._consumer, self._fence)
                else:
                    self._writes.take_back(target, self._consumer, allocation, self._fence)
                self._begun.pop()
        self.forget()

    def forget(self) -> None:
        """Let devices that are assumed count no longer."""
        with self._picture.lock:
            while self._assumed:
                self._picture.claims.forget(*self._assumed.popitem())


RETRY_SECONDS = 1.0


class InUse(ClaimcheckError):
    """Another attempt writes to one of the claims."""


class Undoing:
    """Lets one attempt at a time write to a claim, and none to one from which something is still to be taken back.

    Only binds wait for others, each in a thread of which its namespace leaves some to others. Who looks after the pods of all
    namespaces goes on with the next pod, and comes again.
    """

    def __init__(self) -> None:
        self._changed = Condition()  # its lock is for `_held`, and for taking out of `_pending`
        self._held: set[str] = set()
        self._pending: list[PodAllocation] = []

    def __len__(self) -> int:
        """How many attempts are still to be taken back."""
        return len(self._pending)

    @contextmanager
    def holding(self, keys: Iterable[str], *, waits: bool = False) -> Iterator[None]:
        """Keep claims to which no other attempt writes for this one.

        They are taken all at once, so that nobody waits for somebody who waits.

        :param keys: ``namespace/name``.
        :param waits: whether to wait for other attempts.
        :raises InUse: if there is another one, and it is not waited for.
        :raises ClaimcheckError: if something has to be taken back first, and cannot be.
        """
        wanted = frozenset(keys)
        with self._changed:
            if waits:
                self._changed.wait_for(lambda: self._held.isdisjoint(wanted))
            elif not self._held.isdisjoint(wanted):
                raise InUse("another attempt writes to the claims")
            self._held |= wanted
        try:
            for each in list(self._pending):
                if not wanted.isdisjoint(each.keys) and not self._try(each):
                    raise Unavailable("devices of an earlier attempt are still to be taken back")
            yield
        finally:
            with self._changed:
                self._held -= wanted
                self._changed.notify_all()

    def take_back(self, allocation: PodAllocation) -> None:
        """Take back what an attempt has written; what cannot be taken back now will be later.

        :param allocation: all of its claims are held.
        """
        self._pending.append(allocation)
        self._try(allocation)

    def retry(self) -> None:
        """Try once more whatever is pending."""
        for each in list(self._pending):
            try:
                with self.holding(each.keys):
                    pass
            except InUse:
                continue
            except ClaimcheckError as error:
                log(logging.WARNING, "devices not taken back yet", claims=each.keys, reason=str(error))

    def run(self, ending: Event) -> None:
        """Try again from time to time."""
        while not ending.wait(RETRY_SECONDS):
            self.retry()

    def _try(self, allocation: PodAllocation) -> bool:
        """Take it back, if that is possible now; whether it is no longer pending."""
        try:
            allocation.take_back()
        except NotLeading:  # who leads now looks after it
            allocation.forget()
        except ClaimcheckError:
            return False
        except Exception:  # noqa: BLE001 - whatever it is, the devices stay taken, and others are taken back
            LOGGER.exception("devices not taken back")
            return False
        with self._changed:
            if allocation in self._pending:  # others may have tried at the same time
                self._pending.remove(allocation)
        return True
