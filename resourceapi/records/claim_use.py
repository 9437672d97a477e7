"""Whether a pod can use a claim that exists, whatever devices there are."""

from __future__ import annotations

from resourceapi.limits import RESERVED_FOR
from resourceapi.manifests import text
from resourceapi.records.claims import Claim, Owner, reservations
from resourceapi.records.pod_groups import KIND as POD_GROUP
from resourceapi.records.pod_groups import RESOURCE
from resourceapi.records.pods import Pod, PodClaim


def objection(pod: Pod, entry: PodClaim, claim: Claim) -> str:
    """Why a pod on no node cannot use the claim of an entry, in words that follow its name; empty if it can.

    :param pod: without a UID if it is one of a workload, or is not in a cluster yet.
    """
    if entry.is_generated and pod.uid and not any(_has_made(pod, each) for each in claim.owners):
        # it may have been made for another pod of the same name
        return "was not created for this pod"
    if claim.is_leaving:
        return "is being deleted"
    if len(reservations(claim.object)) >= RESERVED_FOR and not _is_reserved(claim, pod):
        return f"is in use by {RESERVED_FOR} consumers already"
    return ""


def _has_made(pod: Pod, owner: Owner) -> bool:
    """Whether a claim has been made for a pod, or for its PodGroup, of which a pod knows the name."""
    return owner.is_controller and (
        owner.uid == pod.uid or (bool(pod.group) and (owner.kind, owner.name) == (POD_GROUP, pod.group))
    )


def _is_reserved(claim: Claim, pod: Pod) -> bool:
    """Whether a claim is reserved for a pod, or for its PodGroup, of which a pod knows the name."""
    return claim.is_reserved_for(pod.uid) or (
        bool(pod.group)
        and any(
            (text(each, "resource"), text(each, "name")) == (RESOURCE, pod.group)
            for each in reservations(claim.object)
        )
    )
