"""The scenario of ``explain`` and ``simulate``: a cluster, and the workloads that request devices in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.options import (
    add_inventory,
    add_kubeconfig,
    add_namespace,
    add_paths,
    add_server_options,
    insist_on_paths,
    profile_of,
)

if TYPE_CHECKING:
    from argparse import Namespace

    from advice.findings import Result
    from allocator.explaining.snapshot import Snapshot
    from cluster.workloads import Workload
    from commandline.cluster_state import ClusterState
    from commandline.options import Arguments
    from commandline.results import Failure
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


def add_scenario_options(parser: Arguments, contents: str) -> None:
    """Files, ``--inventory`` or ``--kubeconfig``, ``--namespace``, and the server to answer as.

    :param contents: what the files contain.
    """
    add_paths(parser, contents)
    add_inventory(
        parser,
        "the cluster's objects, in any version; a directory or a file: ResourceSlices, DeviceClasses, Nodes, "
        "ResourceClaims with their allocations, ResourceClaimTemplates, DeviceTaintRules",
    )
    add_kubeconfig(parser, "read the cluster's objects from a live cluster")
    add_namespace(parser)
    add_server_options(parser)


class Scenario:
    """A cluster, the workloads that request devices in it, and what could not be read.

    :param state: the cluster's objects.
    :param snapshot: the same as the allocator sees them.
    """

    def __init__(self, state: ClusterState, snapshot: Snapshot, workloads: list[Workload]) -> None:
        self.state = state
        self.snapshot = snapshot
        self.workloads = workloads
        self.failures = state.failures
        #: what nodes have left beside devices
        self.node_resources = state.node_resources()

    def unchecked(self) -> list[str]:
        """What of kube-scheduler's checks could not be made, or is not known here."""
        pods = [each for each in self.workloads if each.is_pod]
        notes = []
        if len(pods) < len(self.workloads):
            notes.append("claims and templates without a pod: only devices and taints of nodes are checked")
        if pods and not self.node_resources.are_known:
            notes.append(
                "CPU, memory and other resources of nodes are not checked: no Node with status.allocatable is known"
            )
        elif pods and not self.state.pods.objects:
            notes.append(
                "no Pods on nodes are known: all CPU, memory and other resources of nodes count as free"
            )
        if pods:
            notes.append("not checked: affinity to other pods, topology spread, host ports, volumes")
        return notes


def read_scenario(options: Namespace) -> Scenario:
    """Read what the options name.

    :raises UsageError: for options that contradict each other, or if nothing requests devices.
    """
    from cluster.workloads import WorkloadReader
    from commandline.cluster_state import ClusterState
    from commandline.reading import insist_on_one_reader, read, read_named

    if options.kubeconfig is not None and options.inventory:
        raise UsageError("--kubeconfig and --inventory: use only one of them")
    insist_on_paths(options)
    profile = profile_of(options)
    insist_on_one_reader(options.paths, options.inventory)
    state = ClusterState(profile, options.namespace)
    if options.kubeconfig is None:
        state.learn(read_named("--inventory", options.inventory))
    else:
        state.learn(_live(options, profile, state), live=True)
    requesting = state.learn(read(options.paths), new=True)
    workloads = WorkloadReader(state, options.namespace, state.why_unread).workloads(requesting)
    if not workloads and not state.failures:
        raise UsageError(
            f"{', '.join(options.paths)}: nothing requests devices: there are neither resource claims nor "
            "extended resources"
        )
    snapshot = snapshot_of(state)
    if workloads and not (options.kubeconfig or options.inventory or snapshot.nodes or snapshot.classes):
        raise UsageError("describe the cluster with --inventory DIR or --kubeconfig FILE")
    return Scenario(state, snapshot, workloads)


def snapshot_of(state: ClusterState) -> Snapshot:
    """The cluster as the allocator sees it."""
    from allocator.explaining.snapshot import Snapshot

    return Snapshot(state.features, state.all_nodes(), state.classes, state.slices, state.allocated_claims)


def _live(options: Namespace, profile: Profile, state: ClusterState) -> Iterator[Manifest | Result | Failure]:
    """The objects of a live cluster.

    If templates of other namespaces cannot be listed, that is no failure: only those of the pods' own namespace matter.
    Claims of all namespaces matter, as they may hold devices.

    :raises UsageError: if the cluster does not answer at all.
    """
    from commandline.cluster_state import TEMPLATE
    from commandline.kubeconfig import Unread, live_objects
    from commandline.results import Failure
    from resourceapi.model.versions import GROUP

    cluster = options.kubeconfig, options.kube_context
    for each in live_objects(*cluster, profile, for_scheduling=True, at_least=options.namespace):
        if isinstance(each, Failure) and each.file.endswith(f"/{GROUP}"):
            raise UsageError(f"--kubeconfig {options.kubeconfig}: {each.message}")
        if isinstance(each, Unread):
            state.unread[each.kind] = each
            if each.kind == TEMPLATE and each.read_namespace:
                continue
        yield each
