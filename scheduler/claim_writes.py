"""The requests that give devices to claims, reserve claims for pods, and take both back.

Every write names the uid and the resourceVersion of the claim that it is about. What is sent as a whole is what the API
server has sent before, with one part changed, so that fields survive that nobody here knows.

A claim gets its devices in two writes, as kube-scheduler does it: first the finalizer, then the status. Between the two, and
before each write that takes something away, the caller's fence is asked (:mod:`cluster.leading`). What was
done is undone in reverse order: first the reservation, then the allocation, then the finalizer. A process that is stopped between two of them, and goes
on after another one has taken over, harms nobody: whoever uses the claim has to write to it first, and what comes later then
is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from cluster.group_snapshots import Snapshots
from cluster.leading import Fence
from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, Unavailable, expect
from resourceapi.encoding import encode
from resourceapi.errors import ClaimcheckError
from resourceapi.kinds import CLAIM
from resourceapi.limits import RESERVED_FOR
from resourceapi.manifests import entries, mapping, name_of, text, uid_of
from resourceapi.model.versions import V1_PATH
from resourceapi.objects import EMPTY, Object
from resourceapi.records.claims import (
    Claim,
    Consumer,
    allocation_of,
    finalizers_of,
    is_reserved,
    pod_served_by,
    reservations,
)
from resourceapi.schema import Schema

#: Keeps a claim that is in use from being deleted; kube-controller-manager takes it away with the allocation.
FINALIZER = "resource.kubernetes.io/delete-protection"
#: How often a claim that others keep changing is read again before a write is given up.
MOST_TRIES = 5


class ClaimConflict(ClaimcheckError):
    """A claim is not, or no longer, what the decision was about; another decision may succeed."""


class Target(NamedTuple):
    """A claim that is written to; without a uid while nobody knows whether it has been made."""

    namespace: str
    name: str
    uid: str

    @classmethod
    def of(cls, claim: Object) -> Target:
        """A claim as a target."""
        return cls(text(mapping(claim, "metadata"), "namespace"), name_of(claim), uid_of(claim))

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return f"{self.collection}/{quote(self.name, safe='')}"

    @property
    def collection(self) -> str:
        """Where it has those of the namespace."""
        return f"{V1_PATH}/namespaces/{quote(self.namespace, safe='')}/{CLAIM.resource}"


class ClaimWrites:
    """Writes claims; what the API server answers is taken in at once. May be used by many threads."""

    def __init__(
        self,
        api: Api,
        schema: Schema,
        snapshots: Snapshots,
        seen: Callable[[Object], None],
        *,
        timestamp: Callable[[], str] | None = None,
        allocated: Callable[[Object, Object], None] = lambda claim, allocation: None,
    ) -> None:
        """Make it ready.

        :param schema: of v1.
        :param snapshots: where the API server keeps compatibility groups.
        :param seen: takes in a claim as the API server has it.
        :param timestamp: the time for ``status.allocation.allocationTimestamp`` (RFC 3339), where claims have that.
        :param allocated: told of each claim that was given devices, with its AllocationResult.
        """
        self._api = api
        self._schema = schema
        self._snapshots = snapshots
        self._seen = seen
        self._timestamp = timestamp
        self._allocated = allocated

    # --- making, for extended resources

    def make(self, body: Object, consumer: Consumer, fence: Fence) -> Object:
        """Create a claim for a pod, with the finalizer of :meth:`protect`.

        :param body: the claim, with its name.
        :param fence: is asked before.
        :returns: the claim as the API server has it, without devices.
        :raises ClaimConflict: if there is another one of this name.
        :raises Unavailable: if it was not made, as far as is known.
        """
        target = Target.of(body)
        fence()
        protected = {**body, "metadata": {**body["metadata"], "finalizers": [FINALIZER]}}
        code, answer = self._api.request("POST", target.collection, protected)
        if code != CONFLICT:
            claim: Object = expect((code, answer), f"creating ResourceClaim {target.key}", CREATED)
            self._seen(claim)
            return claim
        # the client may have had to send it twice, and the first one have arrived
        claim = self._read(target)
        if pod_served_by(claim) != (consumer.name, consumer.uid) or not _ask_for_the_same(claim, body):
            raise ClaimConflict(f"ResourceClaim {target.name!r} was not created for this pod")
        return self.protect(Target.of(claim), claim)

    def unmake(self, target: Target, consumer: Consumer, fence: Fence) -> None:
        """Delete a claim that was made for a pod, if there is one, unless others have reserved it.

        :param fence: is asked before every write.
        :raises Unavailable: if it is not done.
        """
        for _ in range(2 * MOST_TRIES):
            claim = self._find(target)
            if claim is None or pod_served_by(claim) != (consumer.name, consumer.uid):
                return
            change = _next_undo(claim, consumer, allocation_of(claim) or EMPTY)
            if change is None and (allocation_of(claim) is not None or is_leaving(claim)):
                return
            fence()
            if change is not None:
                path, patch = change
                self._patch(target.path + path, claim, patch)
                continue
            code, answer = self._api.request("DELETE", target.path, {"preconditions": _version_of(claim)})
            if code not in (CONFLICT, NOT_FOUND):
                expect((code, answer), f"deleting ResourceClaim {target.key}", OK)
                return
        raise Unavailable(f"ResourceClaim {target.key} keeps changing")

    # --- giving

    def protect(self, target: Target, claim: Object) -> Object:
        """Write the finalizer to a claim without devices; it is written also where it is there, to learn whether it is.

        :param claim: as it was read last, in any form.
        :returns: the claim as the API server has it.
        :raises ClaimConflict: if the claim is gone, going, or has devices.
        """
        for _ in range(MOST_TRIES):
            _check_unallocated(target, claim)
            finalizers = finalizers_of(claim)
            if FINALIZER not in finalizers:
                finalizers = [*finalizers, FINALIZER]
            answer = self._patch(target.path, claim, {"metadata": {"finalizers": finalizers}})
            if answer is not None:
                return answer
            claim = self._read(target)
        raise _keeps_changing(target)

    def allocate(
        self, target: Target, claim: Object, allocation: Object, consumer: Consumer, fence: Fence
    ) -> Object:
        """Write devices and the reservation for a pod into the status of a claim.

        :param claim: as :meth:`protect` returned it.
        :param allocation: as :meth:`written_form` returned it.
        :param fence: is asked before every attempt.
        :raises ClaimConflict: if the claim is gone, going, or has other devices.
        """
        for _ in range(MOST_TRIES):
            fence()
            status = {
                **mapping(claim, "status"),
                "allocation": allocation,
                "reservedFor": [*reservations(claim), consumer.reference],
            }
            code, answer = self._api.request("PUT", f"{target.path}/status", {**claim, "status": status})
            if code != CONFLICT:
                written = self._taken_in(target, code, answer)
                self._allocated(written, allocation)
                return written
            claim = self._read(target)
            if same_devices(allocation_of(claim), allocation) and is_reserved(claim, consumer.uid):
                return claim  # the client had to send it twice, and the first one arrived
            claim = self.protect(target, claim)
        raise _keeps_changing(target)

    def reserve(self, target: Target, claim: Object, consumer: Consumer, fence: Fence) -> None:
        """Reserve a claim that has devices for a pod, unless that is done.

        :param claim: as it was read last, in any form; its devices are those that are meant.
        :raises ClaimConflict: if the claim is gone, going, in use by as many as can be, or has other devices.
        """
        allocation = allocation_of(claim)
        for _ in range(MOST_TRIES):
            if is_reserved(claim, consumer.uid):
                return
            _check_reservable(target, claim)
            reserved = self._references([*reservations(claim), consumer.reference])
            fence()
            if self._patch(f"{target.path}/status", claim, {"status": {"reservedFor": reserved}}) is not None:
                return
            claim = self._read(target)
            if not same_devices(allocation_of(claim), allocation):
                raise ClaimConflict(f"ResourceClaim {target.name!r} has lost its devices meanwhile")
        raise _keeps_changing(target)

    def written_form(self, target: Target, allocation: Object) -> Object:
        """An AllocationResult as it is written, with the time.

        :param allocation: as the allocator has made it.
        :raises NoPlace: if the API server would refuse it.
        """
        kept = self._snapshots.with_snapshot(allocation, target.uid)
        written = encode(self._schema, "AllocationResult", kept, verbatim=True)
        return written if self._timestamp is None else {**written, "allocationTimestamp": self._timestamp()}

    # --- taking back

    def take_back(self, target: Target, consumer: Consumer, allocation: Object | None, fence: Fence) -> None:
        """Undo whatever has arrived of the writes above, and make sure that nothing of them arrives later.

        :param allocation: the devices that the claim is to lose if nobody else has reserved it; None: it keeps them.
        :param fence: is asked before every write.
        :raises Unavailable: if it is not done.
        """
        claim = self._find(target)
        for _ in range(MOST_TRIES):
            if claim is None:
                return
            change = _next_undo(claim, consumer, allocation)
            if change is None:
                return
            fence()
            path, patch = change
            answer = self._patch(target.path + path, claim, patch)
            claim = self._find(target) if answer is None else answer
        raise Unavailable(f"ResourceClaim {target.key} keeps changing")

    # --- requests

    def _find(self, target: Target) -> Object | None:
        """The claim as it is now; None if it is gone, or another one has its name."""
        code, answer = self._api.request("GET", target.path)
        if code == NOT_FOUND:
            return None
        claim: Object = expect((code, answer), f"GET {target.path}", OK)
        if target.uid and uid_of(claim) != target.uid:
            return None
        self._seen(claim)
        return claim

    def _read(self, target: Target) -> Object:
        claim = self._find(target)
        if claim is None:
            raise _is_gone(target)
        return claim

    def _patch(self, path: str, claim: Object, patch: Object) -> Object | None:
        """Change a claim that is as it was read; None if it is not."""
        body = {**patch, "metadata": {**_version_of(claim), **mapping(patch, "metadata")}}
        code, answer = self._api.request("PATCH", path, body)
        return None if code in (CONFLICT, NOT_FOUND) else self._taken_in(Target.of(claim), code, answer)

    def _taken_in(self, target: Target, code: int, answer: Any) -> Object:
        claim: Object = expect((code, answer), f"writing ResourceClaim {target.key}", OK)
        self._seen(claim)
        return claim

    def _references(self, consumers: Sequence[Object]) -> list[Object]:
        """Entries of ``status.reservedFor`` without the members that are empty in normal form."""
        return [{name: value for name, value in each.items() if value} for each in consumers]


def _version_of(claim: Object) -> Object:
    """What a write names that is about this version of a claim."""
    metadata = mapping(claim, "metadata")
    return {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}


def _ask_for_the_same(one: Object, other: Object) -> bool:
    return Claim(one).devices.requests == Claim(other).devices.requests


def same_devices(one: Object | None, other: Object | None) -> bool:
    """Whether two allocations, in any form, hold the same devices for the same requests."""
    return one is not None and other is not None and devices_of(one) == devices_of(other)


def devices_of(allocation: Object) -> list[tuple[str, ...]]:
    """What identifies each device of an allocation, and for which request it is."""
    parts = ("request", "driver", "pool", "device", "shareID")
    return [
        tuple(text(each, part) for part in parts)
        for each in entries(mapping(allocation, "devices"), "results")
    ]


def _next_undo(claim: Object, consumer: Consumer, allocation: Object | None) -> tuple[str, Object] | None:
    """The next write that takes back (subresource, patch); None if nothing is left to do.

    Each is a write of its own: that the reservation goes first is what makes a late one harmless.
    """
    held = allocation_of(claim)
    if held is not None and is_reserved(claim, consumer.uid):
        left = [each for each in reservations(claim) if text(each, "uid") != consumer.uid]
        return "/status", {"status": {"reservedFor": left or None}}
    if allocation is None:
        return None
    if held is not None and same_devices(held, allocation) and not reservations(claim):
        return "/status", {"status": {"allocation": None, "devices": None}}
    if held is None and FINALIZER in finalizers_of(claim):
        others = [each for each in finalizers_of(claim) if each != FINALIZER]
        return "", {"metadata": {"finalizers": others or None}}
    return None


def _check_unallocated(target: Target, claim: Object) -> None:
    _check_stays(target, claim)
    if allocation_of(claim) is not None:
        raise ClaimConflict(f"ResourceClaim {target.name!r} has got devices meanwhile")


def _check_reservable(target: Target, claim: Object) -> None:
    _check_stays(target, claim)
    if allocation_of(claim) is None:
        raise ClaimConflict(f"ResourceClaim {target.name!r} has lost its devices meanwhile")
    if len(reservations(claim)) >= RESERVED_FOR:
        raise ClaimConflict(f"ResourceClaim {target.name!r} is in use by {RESERVED_FOR} consumers already")


def is_leaving(claim: Object) -> bool:
    """Whether a claim is being deleted."""
    return bool(mapping(claim, "metadata").get("deletionTimestamp"))


def _check_stays(target: Target, claim: Object) -> None:
    if uid_of(claim) != target.uid:
        raise _is_gone(target)
    if is_leaving(claim):
        raise ClaimConflict(f"ResourceClaim {target.name!r} is being deleted")


def _is_gone(target: Target) -> ClaimConflict:
    return ClaimConflict(f"ResourceClaim {target.name!r} has been deleted")


def _keeps_changing(target: Target) -> ClaimConflict:
    return ClaimConflict(f"ResourceClaim {target.name!r} keeps changing")
