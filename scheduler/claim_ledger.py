"""The claims of the cluster with what they hold, including allocations that are being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from allocator.scheduling import SchedulingState
from cluster.store import Change, VersionedCollection
from resourceapi.objects import Object
from resourceapi.records.claims import Allocation, Claim
from resourceapi.records.pools import DeviceId


class Assumed(NamedTuple):
    """An allocation that counts before the API server has it.

    :param uid: of the claim; empty while that is still to be made.
    """

    uid: str
    allocation: Allocation

    def is_of(self, claim: Claim) -> bool:
        """Whether it is an allocation of this claim."""
        return self.uid in ("", claim.uid)


class ClaimLedger:
    """Every claim as the API server has it, and over it the allocations that are assumed.

    A device counts as taken from the moment on at which a bind has chosen it, whatever watch events say meanwhile; it is
    free again when the bind gives up (:meth:`forget`), or when a claim that had it written into its status lets go of it.

    All methods but :meth:`seen` need the lock of the picture; ``seen`` must be called without it.
    """

    def __init__(self, state: SchedulingState, claims: VersionedCollection[Claim]) -> None:
        """Begin to follow a collection.

        :param state: is told what claims hold.
        :param claims: what the API server has, as watched and as it answers to writes.
        """
        self._state = state
        self._claims = claims
        self._assumed: dict[str, Assumed] = {}
        #: the claims, by key, for which it is assumed that they have a device
        self._assumed_for: dict[DeviceId, str] = {}
        #: grows whenever a claim lets go of devices, or of nodes to which it was bound
        self.releases = 0
        #: told of each claim that has changed, with the claim before and after
        self.listeners: list[Callable[[Change[Claim]], None]] = []

    def get(self, key: str) -> Claim | None:
        """A claim with what it holds, assumed allocations included; None if there is none, and is not going to be.

        It stays: who reads what it asks for does so from a copy (:meth:`~resourceapi.records.claims.Claim.for_a_moment`).

        :param key: ``namespace/name``.
        """
        claim = self._claims.objects.get(key)
        assumed = self._assumed.get(key)
        if assumed is None:
            return claim
        if claim is None:
            return None if assumed.uid else _to_be_made(key).allocated(assumed.allocation.object)
        return claim.allocated(assumed.allocation.object) if assumed.is_of(claim) else claim

    def is_assumed(self, key: str) -> bool:
        """Whether the claim's allocation is being written."""
        return key in self._assumed

    def with_assumed(self) -> dict[str, Claim]:
        """The claims whose allocations are being written, with these, by key."""
        return {key: claim for key in self._assumed if (claim := self.get(key)) is not None}

    @property
    def assumed(self) -> int:
        """How many allocations are being written."""
        return len(self._assumed)

    def assume(self, key: str, uid: str, allocation: Object) -> Assumed:
        """Let an allocation count that is going to be written.

        :param uid: of the claim; empty for one that is going to be made.
        :param allocation: an AllocationResult in normal form.
        :returns: what to name when it is to count no longer: a claim of the same name may have another by then.
        """
        self._drop(key)
        assumed = self._assumed[key] = Assumed(uid, Allocation(allocation))
        self._assumed_for.update(dict.fromkeys(_whole_devices(assumed.allocation), key))
        self._tell(key)
        return assumed

    def forget(self, key: str, assumed: Assumed) -> None:
        """Let an assumed allocation count no longer: it was not written, or has been taken back."""
        if self._assumed.get(key) is assumed:
            self.releases += _is_wanted(assumed.allocation)
            self.withdraw(key, assumed)

    def withdraw(self, key: str, assumed: Assumed) -> None:
        """The same of an allocation that nobody but its own pods was refused for: it helps no other."""
        if self._assumed.get(key) is assumed:
            self._drop(key)
            self._tell(key)

    def _drop(self, key: str) -> None:
        """Assume nothing of a claim any more."""
        assumed = self._assumed.pop(key, None)
        for device in () if assumed is None else _whole_devices(assumed.allocation):
            if self._assumed_for.get(device) == key:
                del self._assumed_for[device]

    def stored(self, key: str) -> Claim | None:
        """A claim as the API server has it; None if there is none."""
        return self._claims.objects.get(key)

    def seen(self, claim: Object) -> None:
        """Take in a claim as the API server has answered to a write; one that is older than what is known changes nothing."""
        self._claims.put(claim)

    def changed(self, changes: Sequence[Change[Claim]]) -> None:
        """Take in what has been put into the collection.

        Changes of one call are of one moment, in no order: where a device has gone from one claim to another, it is taken
        from the one before the other gets it, as it would count as free otherwise.
        """
        for change in changes:
            if self._confirm(change) or _lets_go(change):
                self._state.remove_claim(*_names(change.key))
            self._give_way(change)
        for change in changes:
            self.releases += _lets_go(change)
            self._tell(change.key)
            for listener in self.listeners:
                listener(change)

    def _confirm(self, change: Change[Claim]) -> bool:
        """Forget what was assumed of a claim once the API server says what it has; whether that is something else."""
        assumed, after = self._assumed.get(change.key), change.after
        if assumed is None or (after is None and not assumed.uid):
            return False
        is_same = after is not None and assumed.is_of(after)
        held = after.allocation if after is not None and is_same else None
        if held is None and is_same:
            return False  # not written yet
        self._drop(change.key)
        return held != assumed.allocation

    def _give_way(self, change: Change[Claim]) -> None:
        """Assume no longer that other claims have the devices of one that has been allocated: another leader has given them away.

        They would be free otherwise as soon as one of the two lets go of them.
        """
        held = None if change.after is None else change.after.allocation
        for device in () if held is None else _whole_devices(held):
            other = self._assumed_for.get(device, change.key)
            if other != change.key:
                self._drop(other)
                self._tell(other)

    def _tell(self, key: str) -> None:
        claim = self.get(key)
        if claim is None:
            self._state.remove_claim(*_names(key))
        else:
            self._state.put_claim(claim)


def _to_be_made(key: str) -> Claim:
    namespace, name = _names(key)
    return Claim({"metadata": {"namespace": namespace, "name": name}})


def _names(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name


def _lets_go(change: Change[Claim]) -> bool:
    """Whether a claim has other devices than before, or none any more."""
    held = None if change.before is None else change.before.allocation
    kept = None if change.after is None else change.after.allocation
    return held is not None and _is_wanted(held) and held != kept


def _whole_devices(allocation: Allocation) -> list[DeviceId]:
    """Those that no other claim can have as well."""
    return [each.device for each in allocation.results if each.share is None and not each.is_admin]


def _is_wanted(allocation: Allocation) -> bool:
    """Whether it keeps devices from others, or its own pods from nodes: that of a claim that asks for nothing does not."""
    return bool(allocation.results or allocation.node_selector)
