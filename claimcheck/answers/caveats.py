"""What is to be said with an answer about scheduling: what it cannot know, and how compatibility groups count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cluster.group_snapshots import GATE
from resourceapi.gates import known
from resourceapi.kinds import CLAIM, DEVICE_CLASS, DEVICE_TAINT_RULE, RESOURCE_SLICE, RESOURCE_SLICE_PATCH
from resourceapi.manifests import mapping
from resourceapi.model.quotas import KIND as QUOTA
from resourceapi.phrases import number, plural
from resourceapi.records.pod_groups import CLAIMS_GATE
from resourceapi.records.pod_groups import GATE as POD_GROUP_GATE

if TYPE_CHECKING:
    from claimcheck.answers.cluster_state import ClusterState
    from claimcheck.answers.outcome import Unread
    from cluster.workloads import Workload


# What an answer about scheduling cannot know, because the user may not read it in the live cluster.

#: Without these there is nothing to say of a pod that has no devices yet.
_ESSENTIAL = (DEVICE_CLASS.name, RESOURCE_SLICE.name)
_CONSEQUENCES = {
    CLAIM.name: "devices that they hold count as free",
    DEVICE_TAINT_RULE.name: "the taints that they set are not known",
    RESOURCE_SLICE_PATCH.name: "devices are taken to be as their slices describe them",
    "Node": "only nodes that ResourceSlices name are known, without labels, taints and resources",
    "Pod": "what they take of nodes counts as free",
    QUOTA: "claims count as allowed",
}


def consequences(unread: Mapping[str, Unread]) -> list[str]:
    """What it means that objects of some kinds could not be read, in sentences."""
    found = []
    for kind, consequence in _CONSEQUENCES.items():
        if kind in unread:
            namespace = unread[kind].read_namespace
            whose = f"{plural(kind)} of other namespaces than {namespace}" if namespace else plural(kind)
            found.append(f"{whose} could not be read: {consequence}.")
    return found


def undecidable(workload: Workload, unread: Mapping[str, Unread]) -> str:
    """Why nothing can be said about a workload; empty if something can."""
    if workload.missing:
        return ""
    if workload.claims and all(each.is_allocated for each in workload.claims):
        return ""
    for kind in _ESSENTIAL:
        if kind in unread:
            return f"{plural(kind)} could not be read"
    selects = workload.pod_spec.get("nodeSelector") or mapping(
        mapping(workload.pod_spec, "affinity"), "nodeAffinity"
    )
    if "Node" in unread and selects:
        return "Nodes could not be read, and the pod selects them by labels"
    return ""


# What is to be said wherever compatibility groups (KEP-5963) count otherwise than slices and kube-
# scheduler have them.

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


# What is to be said wherever there are PodGroups that do not count.


def pod_group_notes(state: ClusterState) -> list[str]:
    """That PodGroups, or their claims, do not count, in a sentence; none if nothing is to be said about them."""
    groups = state.pod_groups.objects
    missing = [gate for gate in (POD_GROUP_GATE, CLAIMS_GATE) if gate not in state.profile.gates]
    if not groups or not missing:
        return []
    first, others = groups[min(groups)], len(groups) - 1
    who = first.title + (f" and {number(others, 'other')}" if others else "")
    if POD_GROUP_GATE in missing:
        verb = "do" if others else "does"
        return [f"{who} {verb} not count: the feature gate {POD_GROUP_GATE} is off."]
    return [f"Pods share no claims of {who}: the feature gate {CLAIMS_GATE} is off."]
