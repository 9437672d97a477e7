"""The options of ``explain`` and ``simulate`` that name a cluster and workloads, and how these are read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from claimcheck.answers.scenario import SECONDS_IN_ALL
from commandline.errors import UsageError
from commandline.live_cluster import cluster_or_inventory
from commandline.options import (
    add_cluster,
    add_inventory,
    add_namespace,
    add_paths,
    add_server_options,
    insist_on_paths,
    profile_of,
)
from resourceapi.kinds import CLAIM, CLAIM_TEMPLATE
from resourceapi.manifests import name_of, namespace_of
from resourceapi.model import workloads
from resourceapi.names import is_dots

if TYPE_CHECKING:
    from argparse import Namespace

    from advice.findings import Result
    from allocator.explaining.snapshot import Snapshot
    from claimcheck.answers.cluster_state import ClusterState
    from claimcheck.answers.live_cluster import LiveCluster
    from claimcheck.answers.outcome import Failure
    from claimcheck.answers.scenario import Scenario
    from commandline.options import Arguments
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


_SHORT_NAMES = {
    "po": "Pod",
    "rc": "ReplicationController",
    "deploy": "Deployment",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "rs": "ReplicaSet",
    "cj": "CronJob",
}
_RESOURCES = {CLAIM.name: CLAIM.resource, CLAIM_TEMPLATE.name: CLAIM_TEMPLATE.resource, **workloads.RESOURCES}
# TYPE/NAME that is no path of a manifest.
_SIMPLE = re.compile(r"[A-Za-z.]+/(?!.*\.(?:ya?ml|json)$)[a-z0-9.-]+")
# What looks like the name of an object or a type, and not like that of a manifest.
_NAME = re.compile(r"(?!.*\.(?:ya?ml|json)$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_KINDS = {
    **_SHORT_NAMES,
    **{kind.lower(): kind for kind in _RESOURCES},
    **{resource: kind for kind, resource in _RESOURCES.items()},
}


class ObjectName(NamedTuple):
    """An object as a user names it."""

    kind: str
    name: str

    @classmethod
    def checked(cls, kind: str, name: str) -> ObjectName:
        """Make one.

        :raises UsageError: for a name that no object has.
        """
        if is_dots(name):
            raise UsageError(f"invalid resource name \"{name}\": [may not be '{name}']")
        return cls(kind, name)

    def __str__(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


def kind_of(word: str) -> str:
    """The kind that requests devices by one of its names, with its group or without; empty for none."""
    return _KINDS.get(word.lower().partition(".")[0], "")


def _not_a_file(word: str) -> str:
    """What to write instead of a word that is no file, but a type or a name."""
    if kind_of(word):
        return f"which one? Name objects as {word}/NAME, or as {word} NAME…; there is no file {word}"
    return f"no such file or directory; did you mean pod/{word}?"


def names_and_files(arguments: Sequence[str]) -> tuple[list[ObjectName], list[str]]:
    """Arguments apart: objects (``TYPE/NAME``, or a type and names), and files. What is there as a file is one.

    :raises UsageError: for an object of another type, a name that no object has, or a name or type alone.
    """
    if len(arguments) > 1 and kind_of(arguments[0]) and not any(map(os.path.exists, arguments)):
        kind = kind_of(arguments[0])
        if not any("/" in argument for argument in arguments):
            return [ObjectName.checked(kind, name) for name in arguments[1:]], []
    names, files = [], []
    for argument in arguments:
        type_name, slash, name = argument.partition("/")
        if slash and name and "/" not in name and kind_of(type_name) and not os.path.exists(argument):
            names.append(ObjectName.checked(kind_of(type_name), name))
        elif slash and not os.path.exists(type_name) and _SIMPLE.fullmatch(argument):
            raise UsageError(
                f"{argument}: neither a file nor an object such as pod/NAME; the types are pod, the workloads "
                "(deployment, job, …), resourceclaim and resourceclaimtemplate"
            )
        elif _NAME.fullmatch(argument) and not os.path.exists(argument):
            raise UsageError(f"{argument}: {_not_a_file(argument)}")
        else:
            files.append(argument)
    return names, files


def add_scenario_options(parser: Arguments, contents: str) -> None:
    """Files, ``--inventory`` or ``--live``, ``--namespace``, and the server to answer as.

    :param contents: what the files contain.
    """
    add_paths(
        parser,
        f"{contents}; or objects of a live cluster or the inventory, such as pod/train; `pods` are all that wait",
        metavar="TYPE/NAME|FILE|DIR|-",
    )
    add_inventory(
        parser,
        "the cluster's objects, in any version; a directory or a file: ResourceSlices, DeviceClasses, Nodes, "
        "ResourceClaims with their allocations, ResourceClaimTemplates, DeviceTaintRules, ResourceSlicePatches, PodGroups",
    )
    add_cluster(parser, "read the cluster's objects from a live cluster")
    add_namespace(parser)
    parser.add_argument(
        "-A", "--all-namespaces", action="store_true", help="the pods of all namespaces that wait for a node"
    )
    add_server_options(parser)


def add_timeout(parser: Arguments, covered: str, default: float = SECONDS_IN_ALL) -> None:
    """``--timeout``: how long the work may take after everything has been read.

    :param covered: what the limit is for.
    """
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=default,
        help=f"time limit for {covered}; default: {default:g}",
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


def read_scenario(options: Namespace) -> Scenario:
    """Read what the options name.

    :raises UsageError: for options that contradict each other, if nothing requests devices, or if what does cannot be read in time.
    """
    from allocator.time_limit import OutOfTime, TimeLimit
    from claimcheck.answers.cluster_context import in_namespace
    from claimcheck.answers.reading import read_files
    from claimcheck.answers.scenario import Reader, Scenario, fellows_in
    from commandline.reading import find, insist_on_one_reader
    from commandline.reports.escaping import complain

    waiting = _all_that_wait(options)
    names, options.paths = names_and_files(options.paths)
    options.live |= (bool(names) or waiting) and not options.inventory  # named objects are in a cluster
    cluster = cluster_or_inventory(options)
    profile = profile_of(options)
    insist_on_one_reader(options.paths, options.inventory)
    state, existing = read_cluster(options, cluster, profile)
    if cluster is None:
        requesting = [_in_inventory(name, existing, options.namespace) for name in names]
    else:
        requesting = [cluster.object(profile, name, options.namespace) for name in names]
    if waiting:
        requesting += _waiting(existing, options)
    requesting += state.learn(in_namespace(read_files(find(options)), options.namespace_given), new=True)
    where = "" if cluster else " in the files or the inventory"
    limit = TimeLimit(options.timeout)
    try:
        reader = Reader(state, options.namespace, where)
        workloads = reader.workloads(requesting, limit, stored=len(names))
        if waiting:
            workloads = [each for each in workloads if not each.has_its_devices]
        fellows = fellows_in(state, existing, workloads, options.namespace, limit)
    except OutOfTime:
        reason = f"reading the pods and their claims took longer than {options.timeout:g} s (--timeout)"
        raise UsageError(reason) from None
    if not workloads and not state.failures and not waiting:
        raise UsageError(
            f"{', '.join([*map(str, names), *options.paths])}: nothing requests devices: there are neither resource "
            "claims nor extended resources"
        )
    if not workloads and waiting:
        where = "" if options.all_namespaces else f" in the namespace {options.namespace}; -A looks at all"
        complain(f"no pod waits for devices{where}")
    snapshot = snapshot_in_time(state, options.timeout)
    if workloads and not (cluster or options.inventory or snapshot.nodes or snapshot.classes):
        raise UsageError("describe the cluster with --inventory DIR, or ask a live one with --live")
    return Scenario(state, snapshot, workloads, fellows)


def read_cluster(
    options: Namespace, cluster: LiveCluster | None, profile: Profile
) -> tuple[ClusterState, list[Manifest]]:
    """The objects of ``--inventory`` or of a live cluster, and those of them that request devices, see ``learn``."""
    from claimcheck.answers.cluster_state import ClusterState

    state = ClusterState(profile, options.namespace)
    return state, state.learn(cluster_objects(options, cluster, state), live=cluster is not None)


def cluster_objects(
    options: Namespace, cluster: LiveCluster | None, state: ClusterState
) -> Iterator[Manifest | Result | Failure]:
    """The objects of ``--inventory`` or of a live cluster; lists that could not be read are noted in the state."""
    from claimcheck.answers.scenario import scheduling_objects
    from commandline.reading import read_named

    if cluster is None:
        return _counted(read_named("--inventory", options.inventory))
    return _counted(scheduling_objects(cluster, options.namespace, state.profile, state))


def _counted(found: Iterable[Manifest | Result | Failure]) -> Iterator[Manifest | Result | Failure]:
    """The same objects; if they take long to read, a terminal shows how many there are so far."""
    from commandline.terminal import Progress

    progress = Progress("objects of the cluster read")
    for each in found:
        progress.step()
        yield each
    progress.done()


def snapshot_in_time(state: ClusterState, seconds: float) -> Snapshot:
    """The cluster as the allocator sees it.

    :raises UsageError: if applying patches to devices takes longer than so many seconds.
    """
    from allocator.time_limit import OutOfTime, TimeLimit
    from claimcheck.answers.scenario import snapshot_of

    try:
        return snapshot_of(state, TimeLimit(seconds))
    except OutOfTime:
        raise UsageError(slow_patches(seconds)) from None


def slow_patches(seconds: float) -> str:
    """That patches could not be applied in time."""
    return f"applying ResourceSlicePatches to the devices took longer than {seconds:g} s (--timeout)"


def _all_that_wait(options: Namespace) -> bool:
    """Whether all pods that are on no node are asked about: `pods` alone, or a namespace, or all, and nothing else.

    :raises UsageError: if nothing is named.
    """
    if options.all_namespaces and options.namespace:
        raise UsageError("--all-namespaces and --namespace: use only one of them")
    (only,) = options.paths if len(options.paths) == 1 else ("",)
    if "/" not in only and kind_of(only) == "Pod" and not os.path.exists(only):
        options.paths = []
    elif options.paths and options.all_namespaces:
        raise UsageError("--all-namespaces is about all pods that wait: name no files or objects")
    elif options.paths or not (options.all_namespaces or options.namespace):
        insist_on_paths(options)
        return False
    return True


def _waiting(existing: Iterable[Manifest], options: Namespace) -> list[Manifest]:
    """The pods of the cluster that may wait for devices, of one namespace or of all."""
    from claimcheck.answers.cluster_state import may_wait_for_devices

    namespace = "" if options.all_namespaces else options.namespace
    return [
        each
        for each in existing
        if may_wait_for_devices(each.value) and namespace in ("", namespace_of(each.value, options.namespace))
    ]


def _in_inventory(name: ObjectName, existing: list[Manifest], namespace: str) -> Manifest:
    for manifest in existing:
        value = manifest.value
        if (value["kind"], name_of(value), namespace_of(value, namespace)) == (*name, namespace):
            return manifest
    raise UsageError(f"{name}: not in the namespace {namespace} of the inventory")
