"""What is to be said wherever compatibility groups (KEP-5963) count otherwise than slices and kube-scheduler have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster.group_snapshots import GATE
from resourceapi.gates import known
from resourceapi.kinds import RESOURCE_SLICE

if TYPE_CHECKING:
    from claimcheck.answers.cluster_state import ClusterState

REMEMBERED = (
    "Compatibility groups in use are those that claims remember, which counts for pods that `claimcheck schedule` serves. "
    "kube-scheduler by itself sees only those that slices declare now."
)


def group_notes(state: ClusterState) -> list[str]:
    """How compatibility groups count, in sentences; none if nothing is to be said about them."""
    if GATE in state.profile.gates:
        return [REMEMBERED] if state.has_snapshots else []
    if not state.slices_with_groups:
        return []
    first, others = min(state.slices_with_groups), len(state.slices_with_groups) - 1
    who = f"{RESOURCE_SLICE.name} {first}" + (f" and {others:,} more declare" if others else " declares")
    if GATE not in known(state.profile.minor):
        return [f"{who} compatibility groups, which Kubernetes 1.{state.profile.minor} does not have."]
    return [f"{who} compatibility groups, which do not count: the feature gate {GATE} is off."]
