"""The claims of the cluster with what they hold, including allocations that are being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from allocator.allocated import allocation_of
from allocator.scheduling import SchedulingState
from cluster.store import Change, VersionedCollection, uid_of
from resourceapi.objects import EMPTY, Object


class Assumed(NamedTuple):
    """An allocation that counts before the API server has it.

    :param uid: of the claim.
    """

    uid: str
    allocation: Object


class ClaimLedger:
    """Every claim (v1, normal form) as the API server has it, and over it the allocations that are assumed.

    A device counts as taken from the moment on at which a bind has chosen it, whatever watch events say meanwhile; it is
    free again when the bind gives up (:meth:`forget`), or when a claim that had it written into its status lets go of it.

    All methods but :meth:`seen` need the lock of the picture; ``seen`` must be called without it.
    """

    def __init__(self, state: SchedulingState, claims: VersionedCollection) -> None:
        """Begin to follow a collection.

        :param state: is told what claims hold.
        :param claims: what the API server has, as watched and as it answers to writes.
        """
        self._state = state
        self._claims = claims
        self._assumed: dict[str, Assumed] = {}
        #: grows whenever a claim lets go of devices
        self.releases = 0
        #: told of each claim that has changed, with the claim before and after
        self.listeners: list[Callable[[Change[Object]], None]] = []

    def get(self, key: str) -> Object | None:
        """A claim with what it holds, assumed allocations included; None if there is none.

        :param key: ``namespace/name``.
        """
        claim = self._claims.objects.get(key)
        assumed = self._assumed.get(key)
        if claim is None or assumed is None or assumed.uid != uid_of(claim):
            return claim
        return {**claim, "status": {**(claim.get("status") or EMPTY), "allocation": assumed.allocation}}

    def is_assumed(self, key: str) -> bool:
        """Whether the claim's allocation is being written."""
        return key in self._assumed

    def with_assumed(self) -> dict[str, Object]:
        """The claims whose allocations are being written, with these, by key."""
        return {key: claim for key in self._assumed if (claim := self.get(key)) is not None}

    @property
    def assumed(self) -> int:
        """How many allocations are being written."""
        return len(self._assumed)

    def assume(self, key: str, uid: str, allocation: Object) -> None:
        """Let an allocation count that is going to be written.

        :param uid: of the claim.
        :param allocation: an AllocationResult in normal form.
        """
        self._assumed[key] = Assumed(uid, allocation)
        self._tell(key)

    def forget(self, key: str) -> None:
        """Let an assumed allocation count no longer: it was not written, or has been taken back."""
        if self._assumed.pop(key, None) is not None:
            self.releases += 1
            self._tell(key)

    def seen(self, claim: Object) -> None:
        """Take in a claim as the API server has answered to a write; one that is older than what is known changes nothing."""
        self._claims.put(claim)

    def changed(self, changes: Sequence[Change[Object]]) -> None:
        """Take in what has been put into the collection."""
        for change in changes:
            assumed = self._assumed.get(change.key)
            after = change.after
            if assumed is not None and (
                after is None or uid_of(after) != assumed.uid or allocation_of(after) is not None
            ):
                del self._assumed[change.key]
            self.releases += _lets_go(change)
            self._tell(change.key)
            for listener in self.listeners:
                listener(change)

    def _tell(self, key: str) -> None:
        claim = self.get(key)
        if claim is None:
            namespace, _, name = key.partition("/")
            self._state.remove_claim(namespace, name)
        else:
            self._state.put_claim(claim)


def _lets_go(change: Change[Object]) -> bool:
    """Whether a claim has other devices than before, or none any more."""
    held = change.before and allocation_of(change.before)
    return held is not None and held != (change.after and allocation_of(change.after))
