"""The claims of a pod that is to be scheduled, and what speaks against it before devices are looked at."""

from __future__ import annotations

from resourceapi.errors import ClaimcheckError
from resourceapi.records.claim_use import objection
from resourceapi.records.claims import Claim, Consumer
from resourceapi.records.pod_groups import PodGroup
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
    return [each.for_a_moment() for each in stored_claims_for(pod, ledger)]


def stored_claims_for(pod: Pod, ledger: ClaimLedger) -> list[Claim]:
    """The same as the ledger has them: what they ask for is not to be read from these, which stay.

    :raises ClaimProblem: if one does not exist yet, or cannot be used by the pod, or there are too many.
    """
    if len(pod.claims) > MOST_CLAIMS:
        raise ClaimProblem(f"the pod names more than {MOST_CLAIMS} ResourceClaims")
    return list({each.claim: _claim(pod, each, ledger) for each in pod.claims if each.is_needed}.values())


def _claim(pod: Pod, entry: PodClaim, ledger: ClaimLedger) -> Claim:
    if not entry.claim:
        raise ClaimProblem(
            f"waiting for the ResourceClaim of {entry.entry!r} to be created from its template"
        )
    key = f"{pod.namespace}/{entry.claim}"
    claim = ledger.get(key)
    if claim is None:
        raise ClaimProblem(f"waiting for ResourceClaim {entry.claim!r}, which does not exist", key)
    if reason := objection(pod, entry, claim):
        raise ClaimProblem(f"ResourceClaim {entry.claim!r} {reason}", key)
    return claim


def shared_claims(pod: Pod, group: PodGroup | None) -> dict[str, Consumer]:
    """For whom the claims of a pod are reserved that its PodGroup has as well: for that; by ``namespace/name``."""
    if group is None:
        return {}
    return {
        f"{pod.namespace}/{each.claim}": group.consumer
        for each in pod.claims
        if each.claim and group.shared(each) is not None
    }
