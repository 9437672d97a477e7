"""The scenario of ``explain`` and ``simulate``: a cluster, and the workloads that request devices in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from claimcheck.answers.caveats import consequences, group_notes, pod_group_notes, undecidable
from claimcheck.answers.evictions import NO_TIME_FOR_EVICTIONS, evicted, notes
from resourceapi.errors import Unanswerable
from resourceapi.manifests import existing_pods
from resourceapi.phrases import number

#: What is to be said wherever patches apply to devices.
WITH_PATCHES = (
    "Devices are as ResourceSlicePatches change them, which counts for pods that `claimcheck schedule` serves. "
    "kube-scheduler by itself ignores patches, and sees devices as their slices have them."
)
#: What is not checked, and what is asked about it.
QUOTAS = "ResourceQuotas, which can keep a pod's claims from being made (claimcheck quota)"
QUOTAS_OF_PODS = "ResourceQuotas for the pods themselves (claimcheck quota)"

if TYPE_CHECKING:
    from advice.findings import Result
    from allocator.devices import Slice
    from allocator.explaining.snapshot import Snapshot
    from allocator.time_limit import TimeLimit
    from claimcheck.answers.claim_quotas import ClaimQuotas
    from claimcheck.answers.cluster_state import ClusterState
    from claimcheck.answers.live_cluster import LiveCluster
    from claimcheck.answers.outcome import Failure
    from cluster.workloads import Workload
    from documents.manifest import Manifest
    from resourceapi.releases import Profile

#: Of so many ReplicaSets it is asked what controls them, of those whose pods do not say that it is a Deployment.
MAX_REPLICA_SETS = 16
#: How long the answers to all pods of a question may take unless the caller says otherwise, in seconds.
SECONDS_IN_ALL = 300.0


class Scenario:
    """A cluster, the workloads that request devices in it, and what could not be read.

    :param state: the cluster's objects.
    :param snapshot: the same as the allocator sees them.
    :param fellows: the pods that wait in the cluster and are of a PodGroup of the workloads.
    """

    def __init__(
        self,
        state: ClusterState,
        snapshot: Snapshot,
        workloads: list[Workload],
        fellows: Sequence[Workload] = (),
    ) -> None:
        self.state = state
        self.snapshot = snapshot
        self.workloads = workloads
        self.fellows = fellows
        self.failures = state.failures
        #: what nodes have left beside devices
        self.node_resources = state.node_resources()

    def asked_for(self, workloads: list[Workload], fellows: Sequence[Workload]) -> Scenario:
        """One with the same cluster and other workloads."""
        other = copy(self)
        other.workloads, other.fellows = workloads, fellows
        return other

    @property
    def is_whole(self) -> bool:
        """Whether all that scheduling depends on could be read."""
        return not consequences(self.state.unread)

    @property
    def has_patched_devices(self) -> bool:
        """Whether some patch applies to some device."""
        return bool(self.snapshot.inventory.patches_in_effect)

    def checked(self, limit: TimeLimit) -> list[str]:
        """What of the scheduler's checks has been made, what has not, and with which devices, in sentences.

        :param limit: how long it may take to find out which pods are evicted.
        """
        patches = [WITH_PATCHES] if self.has_patched_devices else []
        groups = [*group_notes(self.state), *pod_group_notes(self.state)]
        return [*self._checks(), *patches, *groups, *self._leaving(limit)]

    def _leaving(self, limit: TimeLimit) -> list[str]:
        from allocator.time_limit import OutOfTime

        rules, now = self.state.taint_rules.values(), datetime.now(UTC)
        try:
            return notes(evicted(self.state, self.snapshot.inventory.published(), rules, now, limit), now)
        except OutOfTime:
            return [NO_TIME_FOR_EVICTIONS]

    def _checks(self) -> list[str]:
        if not any(each.is_pod for each in self.workloads):
            only = "Checked for claims without a pod: devices, and taints of nodes."
            return [only, *consequences(self.state.unread)]
        checked = ["devices", "the pod's nodeSelector, required node affinity and tolerations"]
        not_checked = ["affinity to other pods", "topology spread", "host ports", "volumes"]
        if self.state.quotas:
            checked.append("ResourceQuotas for claims")
        not_checked.append(QUOTAS_OF_PODS if self.state.quotas else QUOTAS)
        resources = "CPU, memory and other resources of nodes"
        if self.node_resources.are_known:
            checked.insert(1, resources)
        else:
            not_checked.insert(0, f"{resources} (no Node with status.allocatable is known)")
        sentences = [f"Checked: {', '.join(checked)}. Not checked: {', '.join(not_checked)}."]
        if spread := [each.title for each in self.workloads if each.is_spread]:
            more = f" and {number(len(spread) - 1, 'other')}" if len(spread) > 1 else ""
            sentences.append(
                "Where several nodes fit, kube-scheduler may choose another one, since topology spread, affinity to other pods and "
                f"images are not scored here: {spread[0]}{more}."
            )
        if self.node_resources.are_known and not self.state.pods.objects and "Pod" not in self.state.unread:
            sentences.append("No Pods on nodes are known, so all that nodes have counts as free.")
        sentences += consequences(self.state.unread)
        return sentences


class Reader:
    """Reads the workloads of a cluster; what it finds out about the cluster serves for all that it reads.

    :param namespace: that of objects that name none.
    :param where: where claims and templates have been looked for, to say so of those that are missing.
    """

    def __init__(self, state: ClusterState, namespace: str, where: str = "") -> None:
        from cluster.workloads import WorkloadReader

        self._state = state
        self._reader = WorkloadReader(state, namespace, state.why_unread, where)

    def workloads(
        self, requesting: Sequence[Manifest], limit: TimeLimit, *, stored: int = 0
    ) -> list[Workload]:
        """The workloads among objects that request devices or may do so.

        :param limit: how long it may take.
        :param stored: so many of the objects, the first ones, are in the cluster.
        :raises OutOfTime: if it takes longer.
        """
        state = self._state
        workloads = self._reader.workloads(requesting, limit)
        known = set(map(id, requesting[:stored]))
        for workload in workloads:
            limit.check()
            if id(workload.manifest) in known:
                workload.running = state.pods_of(workload.kind, workload.namespace, workload.name)
                # While it is rolled out, there are more pods than it wants.
                workload.copies = max(workload.copies, existing_pods(workload.manifest.value))
            workload.problem = workload.problem or undecidable(workload, state.unread)
        if state.quotas:
            for workload in workloads:
                limit.check()
                granted = self._quotas.alone(workload, limit)
                workload.refused = granted.refusal if granted.copies <= len(workload.running) else ""
        return workloads

    @cached_property
    def _quotas(self) -> ClaimQuotas:
        from claimcheck.answers.claim_quotas import ClaimQuotas

        return ClaimQuotas(self._state)


def fellows_in(
    state: ClusterState,
    existing: Iterable[Manifest],
    workloads: Sequence[Workload],
    namespace: str,
    limit: TimeLimit,
) -> list[Workload]:
    """The pods that wait in the cluster and are of the PodGroup of a workload, but those of the workloads themselves.

    :param existing: objects of the cluster, pods among them.
    :param namespace: that of objects that name none.
    :param limit: how long it may take.
    :raises OutOfTime: if it takes longer.
    """
    from claimcheck.answers.cluster_state import is_pending
    from resourceapi.records.pods import read_pod

    groups = {each.group.key for each in workloads if each.group is not None}
    if not groups:
        return []
    known = {(each.kind, each.full_name) for each in workloads}
    found = []
    for manifest in existing:
        if not is_pending(manifest.value):
            continue
        limit.check()
        pod = read_pod(manifest.value)
        where = pod.namespace or namespace
        makers = {
            ("Pod", f"{where}/{pod.name}"),
            *((kind, f"{where}/{name}") for kind, name in pod.workloads),
        }
        if f"{where}/{pod.group}" in groups and known.isdisjoint(makers):
            found.append(manifest)
    return Reader(state, namespace).workloads(found, limit)


def snapshot_of(
    state: ClusterState, limit: TimeLimit, known: Mapping[str, Slice] = MappingProxyType({})
) -> Snapshot:
    """The cluster as the allocator sees it.

    :param limit: how long it may take to apply patches to devices.
    :param known: slices that have been read already, by name.
    :raises OutOfTime: if it takes longer.
    """
    from allocator.explaining.snapshot import ClusterContent, Snapshot
    from allocator.time_limit import UNLIMITED
    from resourceapi.kinds import RESOURCE_SLICE, RESOURCE_SLICE_PATCH

    patches = state.of(RESOURCE_SLICE_PATCH.name)
    return Snapshot(
        state.features,
        ClusterContent(
            state.all_nodes(),
            state.classes,
            state.of(RESOURCE_SLICE.name).values(),
            state.allocated_claims,
            state.taint_rules.values(),
            patches.values(),
        ),
        time_limit=limit if patches else UNLIMITED,
        known=known,
        owner_of=state.owners(),
    )


def scheduling_objects(
    cluster: LiveCluster, namespace: str, profile: Profile, state: ClusterState
) -> Iterator[Manifest | Result | Failure]:
    """The objects of a live cluster that scheduling depends on.

    If templates and labels of other namespaces cannot be listed, that is no failure: only the pods' own matters.
    Claims of all namespaces matter, as they may hold devices. Neither is it a failure if Pods or ResourceQuotas cannot be
    listed: what they take of nodes, or forbid, is not known then, which ``state.unread`` says. PodGroups matter only to pods that name them, and
    ReplicaSets only where something else than a Deployment may control them.

    :param namespace: where a list of all namespaces is forbidden, that of this one is read.
    :raises Unanswerable: if the cluster does not answer at all.
    """
    from claimcheck.answers.cluster_state import TEMPLATE
    from claimcheck.answers.outcome import NoAnswer, Unread
    from cluster.live_objects import SCHEDULING
    from resourceapi.model.quotas import KIND as QUOTA
    from resourceapi.records.pod_groups import KIND as POD_GROUP

    for each in cluster.objects(profile, kinds=SCHEDULING, at_least=namespace):
        if isinstance(each, NoAnswer):
            raise Unanswerable(f"{cluster.source}: {each.message}")
        if isinstance(each, Unread):
            state.unread[each.kind] = each
            if (each.kind in (TEMPLATE, "Namespace") and each.read_namespace) or each.kind in (
                "Pod",
                POD_GROUP,
                QUOTA,
            ):
                continue
        yield each
    for its_namespace, name in state.replica_sets_that_hold_devices()[:MAX_REPLICA_SETS]:
        with suppress(Unanswerable):  # without rights to read it, it counts as nobody's
            yield cluster.object(profile, ("ReplicaSet", name), its_namespace)
