"""The claims of a pod that is to be scheduled, and what speaks against it before devices are looked at."""

from __future__ import annotations

from resourceapi.errors import ClaimcheckError
from resourceapi.limits import RESERVED_FOR
from resourceapi.manifests import mapping
from resourceapi.objects import Object
from resourceapi.records.claims import Claim, is_reserved, owners_of, reservations
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


def claims_for(pod: Pod, ledger: ClaimLedger) -> list[Claim]:
    """The claims of a pod, each once.

    :raises ClaimProblem: as of :func:`stored_claims_for`.
    """
    return list(map(Claim, stored_claims_for(pod, ledger)))


def stored_claims_for(pod: Pod, ledger: ClaimLedger) -> list[Object]:
    """The same as the ledger has them, which takes much less time.

    :raises ClaimProblem: if one does not exist yet, or cannot be used by the pod, or there are too many.
    """
    if len(pod.claims) > MOST_CLAIMS:
        raise ClaimProblem(f"the pod names more than {MOST_CLAIMS} ResourceClaims")
    return list({each.claim: _claim(pod, each, ledger) for each in pod.claims if each.is_needed}.values())


def _claim(pod: Pod, entry: PodClaim, ledger: ClaimLedger) -> Object:
    if not entry.claim:
        raise ClaimProblem(
            f"waiting for the ResourceClaim of {entry.entry!r} to be created from its template"
        )
    key = f"{pod.namespace}/{entry.claim}"
    found = ledger.get(key)
    if found is None:
        raise ClaimProblem(f"waiting for ResourceClaim {entry.claim!r}, which does not exist", key)
    if entry.is_generated and not any(
        each.uid == pod.uid and each.is_controller for each in owners_of(found)
    ):
        # it may have been made for another pod of the same name
        raise ClaimProblem(f"ResourceClaim {entry.claim!r} was not created for this pod", key)
    if mapping(found, "metadata").get("deletionTimestamp"):
        raise ClaimProblem(f"ResourceClaim {entry.claim!r} is being deleted", key)
    if len(reservations(found)) >= RESERVED_FOR and not is_reserved(found, pod.uid):
        raise ClaimProblem(
            f"ResourceClaim {entry.claim!r} is in use by {RESERVED_FOR} consumers already", key
        )
    return found
