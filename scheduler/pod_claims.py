"""The claims of a pod that is to be scheduled, and what speaks against it before devices are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from allocator.allocated import allocation_of
from resourceapi.errors import ClaimcheckError
from resourceapi.limits import RESERVED_FOR
from resourceapi.manifests import entries, mapping, text, uid_of
from resourceapi.objects import Object
from resourceapi.records.pods import Pod, PodClaim
from scheduler.claim_ledger import ClaimLedger

#: Pods that name more claims get no devices. kube-apiserver has no limit; whoever needs so many devices can ask for 32 in a claim.
MOST_CLAIMS = 128


class ClaimProblem(ClaimcheckError):
    """A claim keeps its pod from every node.

    :param key: the claim as ``namespace/name``; empty while its name is not known.
    """

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


class ClaimOfPod(NamedTuple):
    """A claim with its key, as it is now."""

    key: str
    claim: Object

    @property
    def uid(self) -> str:
        """The claim's uid."""
        return uid_of(self.claim)

    @property
    def is_allocated(self) -> bool:
        """Whether it has devices."""
        return allocation_of(self.claim) is not None


def claims_for(pod: Pod, ledger: ClaimLedger) -> list[ClaimOfPod]:
    """The claims of a pod, each once.

    :raises ClaimProblem: if one does not exist yet, or cannot be used by the pod, or there are too many.
    """
    if len(pod.claims) > MOST_CLAIMS:
        raise ClaimProblem(f"the pod names more than {MOST_CLAIMS} ResourceClaims")
    found: dict[str, ClaimOfPod] = {}
    for entry in pod.claims:
        if entry.is_needed:
            claim = _claim(pod, entry, ledger)
            found[claim.key] = claim
    return list(found.values())


def is_reserved(claim: Object, pod_uid: str) -> bool:
    """Whether a claim is reserved for a pod."""
    return any(text(each, "uid") == pod_uid for each in reservations(claim))


def reservations(claim: Object) -> Sequence[Object]:
    """``status.reservedFor`` of a claim."""
    return entries(mapping(claim, "status"), "reservedFor")


def _claim(pod: Pod, entry: PodClaim, ledger: ClaimLedger) -> ClaimOfPod:
    if not entry.claim:
        raise ClaimProblem(
            f"waiting for the ResourceClaim of {entry.entry!r} to be created from its template"
        )
    key = f"{pod.namespace}/{entry.claim}"
    claim = ledger.get(key)
    if claim is None:
        raise ClaimProblem(f"waiting for ResourceClaim {entry.claim!r}, which does not exist", key)
    if entry.is_generated and not _is_owned(claim, pod):
        raise ClaimProblem(f"ResourceClaim {entry.claim!r} was not created for this pod", key)
    if mapping(claim, "metadata").get("deletionTimestamp"):
        raise ClaimProblem(f"ResourceClaim {entry.claim!r} is being deleted", key)
    if not is_reserved(claim, pod.uid) and len(reservations(claim)) >= RESERVED_FOR:
        raise ClaimProblem(
            f"ResourceClaim {entry.claim!r} is in use by {RESERVED_FOR} consumers already", key
        )
    return ClaimOfPod(key, claim)


def _is_owned(claim: Object, pod: Pod) -> bool:
    """Whether a claim was made for this pod: it may have been made for another one of the same name."""
    return any(
        text(owner, "uid") == pod.uid and owner.get("controller") is True
        for owner in entries(mapping(claim, "metadata"), "ownerReferences")
    )
