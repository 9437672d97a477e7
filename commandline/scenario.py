"""The scenario of ``explain`` and ``simulate``: a cluster, and the workloads that request devices in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING

from commandline.chosen_cluster import cluster_or_inventory
from commandline.errors import UsageError
from commandline.options import (
    add_cluster,
    add_inventory,
    add_namespace,
    add_paths,
    add_server_options,
    insist_on_paths,
    profile_of,
)
from commandline.unknowns import consequences, undecidable
from resourceapi.manifests import existing_pods, name_of, namespace_of

#: The default of ``--timeout``.
SECONDS_IN_ALL = 300.0
#: What is to be said wherever patches apply to devices.
WITH_PATCHES = (
    "Devices are as ResourceSlicePatches change them, which counts for pods that `claimcheck schedule` serves. "
    "kube-scheduler by itself ignores patches, and sees devices as their slices have them."
)

if TYPE_CHECKING:
    from argparse import Namespace

    from advice.findings import Result
    from allocator.explaining.snapshot import Snapshot
    from cluster.workloads import Workload
    from commandline.cluster_state import ClusterState
    from commandline.live_cluster import LiveCluster
    from commandline.options import Arguments
    from commandline.resource_names import ObjectName
    from commandline.results import Failure
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


def add_scenario_options(parser: Arguments, contents: str) -> None:
    """Files, ``--inventory`` or ``--live``, ``--namespace``, and the server to answer as.

    :param contents: what the files contain.
    """
    add_paths(
        parser,
        f"{contents}; or objects of a live cluster or the inventory, such as pod/train",
        metavar="TYPE/NAME|FILE|DIR|-",
    )
    add_inventory(
        parser,
        "the cluster's objects, in any version; a directory or a file: ResourceSlices, DeviceClasses, Nodes, "
        "ResourceClaims with their allocations, ResourceClaimTemplates, DeviceTaintRules, ResourceSlicePatches",
    )
    add_cluster(parser, "read the cluster's objects from a live cluster")
    add_namespace(parser)
    add_server_options(parser)


def add_timeout(parser: Arguments, covered: str) -> None:
    """``--timeout``: how long the work may take after everything has been read.

    :param covered: what the limit is for.
    """
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=SECONDS_IN_ALL,
        help=f"time limit for {covered}; default: {SECONDS_IN_ALL:g}",
    )


def _seconds(given: str) -> float:
    """A finite number of seconds above 0."""
    from argparse import ArgumentTypeError

    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < inf:
        raise ArgumentTypeError(f"{given}: expected a number of seconds above 0")
    return seconds


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

    @property
    def is_whole(self) -> bool:
        """Whether all that scheduling depends on could be read."""
        return not consequences(self.state.unread)

    @property
    def has_patched_devices(self) -> bool:
        """Whether some patch applies to some device."""
        return bool(self.snapshot.inventory.patches_in_effect)

    def checked(self) -> list[str]:
        """What of the scheduler's checks has been made, what has not, and with which devices, in sentences."""
        return [*self._checks(), *([WITH_PATCHES] if self.has_patched_devices else ())]

    def _checks(self) -> list[str]:
        if not any(each.is_pod for each in self.workloads):
            only = "Checked for claims without a pod: devices, and taints of nodes."
            return [only, *consequences(self.state.unread)]
        checked = ["devices", "the pod's nodeSelector, required node affinity and tolerations"]
        not_checked = ["affinity to other pods", "topology spread", "host ports", "volumes"]
        resources = "CPU, memory and other resources of nodes"
        if self.node_resources.are_known:
            checked.insert(1, resources)
        else:
            not_checked.insert(0, f"{resources} (no Node with status.allocatable is known)")
        sentences = [f"Checked: {', '.join(checked)}. Not checked: {', '.join(not_checked)}."]
        if self.node_resources.are_known and not self.state.pods.objects and "Pod" not in self.state.unread:
            sentences.append("No Pods on nodes are known, so all that nodes have counts as free.")
        sentences += consequences(self.state.unread)
        return sentences


def read_scenario(options: Namespace) -> Scenario:
    """Read what the options name.

    :raises UsageError: for options that contradict each other, or if nothing requests devices.
    """
    from cluster.workloads import WorkloadReader
    from commandline.namespaces import in_namespace
    from commandline.reading import find, insist_on_one_reader, read_files
    from commandline.resource_names import names_and_files

    insist_on_paths(options)
    names, options.paths = names_and_files(options.paths)
    options.live |= bool(names) and not options.inventory  # named objects are in a cluster
    cluster = cluster_or_inventory(options)
    profile = profile_of(options)
    insist_on_one_reader(options.paths, options.inventory)
    state, existing = read_cluster(options, cluster, profile)
    if cluster is None:
        requesting = [_in_inventory(name, existing, options.namespace) for name in names]
    else:
        requesting = [cluster.object(profile, name, options.namespace) for name in names]
    requesting += state.learn(in_namespace(read_files(find(options)), options.namespace_given), new=True)
    where = "" if cluster else " in the files or the inventory"
    workloads = WorkloadReader(state, options.namespace, state.why_unread, where).workloads(requesting)
    stored = {(each.file, each.line): each.value for each in requesting[: len(names)]}
    for workload in workloads:
        if value := stored.get((workload.file, workload.line)):
            workload.running = state.pods_of(workload.kind, workload.namespace, workload.name)
            # While it is rolled out, there are more pods than it wants.
            workload.copies = max(workload.copies, existing_pods(value))
        workload.problem = workload.problem or undecidable(workload, state.unread)
    if not workloads and not state.failures:
        raise UsageError(
            f"{', '.join([*map(str, names), *options.paths])}: nothing requests devices: there are neither resource "
            "claims nor extended resources"
        )
    snapshot = snapshot_of(state, options.timeout)
    if workloads and not (cluster or options.inventory or snapshot.nodes or snapshot.classes):
        raise UsageError("describe the cluster with --inventory DIR, or ask a live one with --live")
    return Scenario(state, snapshot, workloads)


def read_cluster(
    options: Namespace, cluster: LiveCluster | None, profile: Profile
) -> tuple[ClusterState, list[Manifest]]:
    """The objects of ``--inventory`` or of a live cluster, and those of them that request devices, see ``learn``."""
    from commandline.cluster_state import ClusterState
    from commandline.reading import read_named

    state = ClusterState(profile, options.namespace)
    if cluster is None:
        return state, state.learn(_counted(read_named("--inventory", options.inventory)))
    return state, state.learn(_counted(_live(cluster, options, profile, state)), live=True)


def _counted(found: Iterable[Manifest | Result | Failure]) -> Iterator[Manifest | Result | Failure]:
    """The same objects; if they take long to read, a terminal shows how many there are so far."""
    from commandline.progress import Progress

    progress = Progress("objects of the cluster read")
    for each in found:
        progress.step()
        yield each
    progress.done()


def snapshot_of(state: ClusterState, seconds: float) -> Snapshot:
    """The cluster as the allocator sees it.

    :param seconds: how long it may take to apply patches to devices.
    :raises UsageError: if it takes longer.
    """
    from allocator.explaining.snapshot import Snapshot
    from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
    from resourceapi.kinds import DEVICE_TAINT_RULE, RESOURCE_SLICE, RESOURCE_SLICE_PATCH

    patches = state.of(RESOURCE_SLICE_PATCH.name)
    try:
        return Snapshot(
            state.features,
            state.all_nodes(),
            state.classes,
            state.of(RESOURCE_SLICE.name).values(),
            state.allocated_claims,
            state.of(DEVICE_TAINT_RULE.name).values(),
            patches.values(),
            time_limit=TimeLimit(seconds) if patches else UNLIMITED,
        )
    except OutOfTime:
        raise UsageError(slow_patches(seconds)) from None


def slow_patches(seconds: float) -> str:
    """That patches could not be applied in time."""
    return f"applying ResourceSlicePatches to the devices took longer than {seconds:g} s (--timeout)"


def _in_inventory(name: ObjectName, existing: list[Manifest], namespace: str) -> Manifest:
    for manifest in existing:
        value = manifest.value
        if (value["kind"], name_of(value), namespace_of(value, namespace)) == (*name, namespace):
            return manifest
    raise UsageError(f"{name}: not in the namespace {namespace} of the inventory")


def _live(
    cluster: LiveCluster, options: Namespace, profile: Profile, state: ClusterState
) -> Iterator[Manifest | Result | Failure]:
    """The objects of a live cluster.

    If templates and labels of other namespaces cannot be listed, that is no failure: only the pods' own matters.
    Claims of all namespaces matter, as they may hold devices. Neither is it a failure if Pods cannot be listed: what
    they take of nodes is not known then, which ``state.unread`` says.

    :raises UsageError: if the cluster does not answer at all.
    """
    from cluster.live_objects import SCHEDULING
    from commandline.cluster_state import TEMPLATE
    from commandline.results import NoAnswer, Unread

    for each in cluster.objects(profile, kinds=SCHEDULING, at_least=options.namespace):
        if isinstance(each, NoAnswer):
            raise UsageError(f"{cluster.source}: {each.message}")
        if isinstance(each, Unread):
            state.unread[each.kind] = each
            if (each.kind in (TEMPLATE, "Namespace") and each.read_namespace) or each.kind == "Pod":
                continue
        yield each
