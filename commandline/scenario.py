"""The situation that ``explain`` and ``simulate`` start from: a cluster, and who asks for devices in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.options import add_server_options, profile_of

if TYPE_CHECKING:
    from argparse import Namespace

    from allocator.explaining.snapshot import Snapshot
    from commandline.cluster_state import ClusterState
    from commandline.options import Arguments
    from commandline.results import Failure, Result
    from commandline.treatment import Manifest
    from commandline.workloads import Asker
    from resourceapi.releases import Profile


def add_situation_options(parser: Arguments, what: str) -> None:
    """``-f``, ``--inventory`` or ``--kubeconfig``, and the server to answer as; `what` is in the files of ``-f``."""
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE|DIR|-",
        nargs="+",
        action="extend",
        required=True,
        help=f"{what}; - is standard input",
    )
    parser.add_argument(
        "--inventory",
        metavar="DIR",
        action="append",
        default=[],
        help="what is in the cluster (or a file): ResourceSlices, DeviceClasses, Nodes, ResourceClaims with what is "
        "allocated to them, DeviceTaintRules, templates; any version",
    )
    parser.add_argument("--kubeconfig", metavar="FILE", help="take all that from a live cluster")
    parser.add_argument(
        "--context", dest="kube_context", metavar="NAME", default="", help="the context in --kubeconfig"
    )
    parser.add_argument(
        "-n", "--namespace", default="default", help="of objects that name none; default: default"
    )
    add_server_options(parser)


class Situation:
    """A cluster as `state` and as `world`, who asks in it, and what could not be read."""

    def __init__(self, state: ClusterState, world: Snapshot, askers: list[Asker]) -> None:
        self.state = state
        self.world = world
        self.askers = askers
        self.failures = state.failures


def read_situation(options: Namespace) -> Situation:
    """Read what the options name.

    :raises UsageError: for options that make no sense, or if nothing asks for devices.
    """
    from commandline.cluster_state import ClusterState
    from commandline.reading import insist_on_one_reader, read, read_named
    from commandline.workloads import Askers

    if options.kubeconfig is not None and options.inventory:
        raise UsageError("--kubeconfig and --inventory: give one of them")
    profile = profile_of(options)
    insist_on_one_reader(options.filename, options.inventory)
    state = ClusterState(profile, options.namespace)
    if options.kubeconfig is None:
        state.learn(read_named("--inventory", options.inventory))
    else:
        state.learn_live(_live(options, profile, state))
    asking = state.learn(read(options.filename), new=True)
    askers = Askers(state, options.namespace).of(asking)
    if not askers and not state.failures:
        files = ", ".join(options.filename)
        raise UsageError(
            f"nothing asks for devices in {files} (with resource claims; extended resources do not count)"
        )
    world = world_of(state)
    if askers and not (options.kubeconfig or options.inventory or world.nodes or world.classes):
        raise UsageError(
            "name what is in the cluster with --inventory DIR, or the cluster with --kubeconfig FILE"
        )
    return Situation(state, world, askers)


def world_of(state: ClusterState) -> Snapshot:
    """The cluster as the allocator sees it."""
    from allocator.explaining.snapshot import Snapshot

    return Snapshot(state.features, state.all_nodes(), state.classes, state.slices, state.allocated_claims)


def _live(options: Namespace, profile: Profile, state: ClusterState) -> Iterator[Manifest | Result | Failure]:
    """What a cluster has; one that does not answer at all is none to look for devices in.

    Templates matter only where they are asked for: a list that is refused is no failure if those of the namespace are
    known.  Of claims others may hold devices.

    :raises UsageError: if it does not.
    """
    from commandline.cluster import Unread, live_objects
    from commandline.cluster_state import TEMPLATE
    from commandline.results import Failure
    from resourceapi.model.versions import GROUP

    cluster = options.kubeconfig, options.kube_context
    for each in live_objects(*cluster, profile, workloads_too=False, at_least=options.namespace):
        if isinstance(each, Failure) and each.file.endswith(f"/{GROUP}"):
            raise UsageError(f"--kubeconfig {options.kubeconfig}: {each.message}")
        if isinstance(each, Unread):
            state.unread[each.kind] = each
            if each.kind == TEMPLATE and each.read_namespace:
                continue
        yield each
