"""The pods of a cluster that wait for devices, and the nodes on which they fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allocator.pod_nodes import rejections
from allocator.scheduling import Mode
from allocator.scheduling_outcome import SchedulingOutcome
from allocator.time_limit import POD_SECONDS, OutOfTime, TimeLimit
from claimcheck.answers.cluster_state import ClusterState, is_pending
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from cluster.workloads import Workload, WorkloadReader
from documents.manifest import Manifest

#: Nodes that are named for a pod.
MAX_NODES = 20


class Places(NamedTuple):
    """On how many nodes a pod fits (none if it is not placed), and the first of them."""

    nodes: int = 0
    names: tuple[str, ...] = ()


def pending(state: ClusterState, manifests: Iterable[Manifest], namespace: str) -> list[Workload]:
    """The pods that wait for devices and of which all claims exist.

    :param manifests: objects of the cluster.
    :param namespace: that of pods which name none.
    """
    pods = [each for each in manifests if is_pending(each.value)]
    found = WorkloadReader(state, namespace, state.why_unread, "").workloads(pods)
    return [each for each in found if not (each.problem or each.missing or each.pod.gates)]


class PodsThatFit:
    """Where each pod fits, as if the others did not exist."""

    def __init__(self, devices: ClusterDevices, workloads: Sequence[Workload], limit: TimeLimit) -> None:
        self._cluster = devices.cluster
        self._limit = limit
        self._resources = devices.state.node_resources()
        self._pods = [(each, self._closed(each)) for each in workloads]

    def _closed(self, workload: Workload) -> frozenset[str] | None:
        """The nodes that lack something besides devices; None if there is no time to find out."""
        nodes, limit = self._cluster.nodes.values(), self._limit.part(POD_SECONDS)
        try:
            return frozenset(rejections(workload.pod_spec, workload.needs, nodes, self._resources, limit))
        except OutOfTime:
            return None

    def places(self) -> dict[str, Places | None]:
        """The nodes for each pod as the cluster is now; None if that could not be found out."""
        return {workload.full_name: self._places(workload, closed) for workload, closed in self._pods}

    def _places(self, workload: Workload, closed: frozenset[str] | None) -> Places | None:
        if closed is None:
            return None
        cluster = self._cluster
        try:
            instead = workload.claims_by_nodes(self._resources)
            answer = cluster.place(
                workload.claims,
                Mode.FILTER,
                self._limit.part(POD_SECONDS),
                instead=instead,
                on_node=workload.on_node(self._resources)._replace(closed=closed, fits_itself=True),
            )
        except OutOfTime:
            return None
        if answer.outcome is SchedulingOutcome.UNDECIDED:
            return None
        if answer.outcome not in (SchedulingOutcome.FITS, SchedulingOutcome.CHANCE):
            return Places()
        answers = answer.nodes
        names = [name for name, each in zip(answers.names, answers.outcomes, strict=True) if each.fits]
        return Places(len(names), tuple(names[:MAX_NODES]))
