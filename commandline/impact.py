"""``claimcheck impact``: what a change would do to a cluster, before it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.options import (
    HTML,
    add_cluster,
    add_inventory,
    add_namespace,
    add_output,
    add_paths,
    add_server_options,
)
from commandline.scenario import add_timeout

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from claimcheck.answers.cluster_state import ClusterState
    from claimcheck.answers.impact.change import Change, ObjectId
    from claimcheck.answers.impact.impact import Impact
    from claimcheck.answers.live_cluster import LiveCluster
    from documents.manifest import Manifest
    from resourceapi.releases import Profile

DESCRIPTION = (
    "Show what a change would do to a cluster: which pods leave their nodes, which stay pending then, which that wait now will start, "
    "which claims would not get their devices again, and what is wrong afterwards that is not wrong now. Nothing is changed."
)
EXAMPLES = """examples:
  claimcheck impact rule.yaml                       what a DeviceTaintRule does to the cluster that kubectl asks
  claimcheck impact driver-2.0/                     new ResourceSlices and DeviceClasses, in these files
  claimcheck impact deployment.yaml                 whether new pods find devices while former ones hold theirs
  claimcheck impact --drain gpu-7                   whether the pods of a node find a place elsewhere
  claimcheck impact --delete deviceclass/gpu        what still needs a class
  claimcheck impact --to-version 1.36               another release of Kubernetes, or --to-feature-gates
  claimcheck impact rule.yaml --inventory cluster/  the cluster is in these files
  claimcheck impact rule.yaml -o markdown           a comment for a pull request

Objects in files are created, or replace those of the same kind and name. A pod that leaves its node comes back as another one if
it has an owner that makes one: that pod waits like all others, and kube-scheduler places them as claimcheck simulate does.
PodDisruptionBudgets do not delay anything.

exit codes: 0 nothing gets worse, 1 something does, 2 some input could not be read or decided
"""
TEXT, JSON, YAML, MARKDOWN = "text", "json", "yaml", "markdown"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_paths(
        parser,
        "the objects that are created or replaced: DeviceTaintRules, ResourceSlicePatches, DeviceClasses, ResourceSlices, "
        "ResourceClaims and their templates, Nodes, ResourceQuotas, Pods and what makes them, such as Deployments",
    )
    parser.add_argument(
        "--delete",
        metavar="TYPE/NAME",
        action="append",
        default=[],
        help="an object that is deleted; with a node go its pods and ResourceSlices; can be repeated, as the next two",
    )
    parser.add_argument(
        "--drain",
        metavar="NODE",
        action="append",
        default=[],
        help="a node that is drained, as by kubectl drain",
    )
    parser.add_argument(
        "--cordon", metavar="NODE", action="append", default=[], help="a node that takes no further pods"
    )
    parser.add_argument(
        "--to-version", metavar="RELEASE", default="", help="the release of Kubernetes that the cluster gets"
    )
    parser.add_argument(
        "--to-feature-gates",
        metavar="GATES",
        default="",
        help="the feature gates that it gets, as NAME=true|false,…",
    )
    add_inventory(
        parser, "the cluster's objects, in any version, Pods and Nodes included; a directory or a file"
    )
    add_cluster(parser, "read the cluster's objects from a live cluster, as without --inventory")
    add_namespace(parser)
    add_timeout(parser, "everything")
    add_server_options(parser)
    add_output(parser, (TEXT, JSON, YAML, MARKDOWN, HTML))


def run(options: Namespace) -> int:
    """Write what the change does.

    :raises UsageError: if there is no change, or one that the API server would refuse.
    """
    from allocator.time_limit import OutOfTime, TimeLimit
    from claimcheck.answers.impact.impact import impact
    from commandline.live_cluster import cluster_or_inventory
    from commandline.options import profile_of

    options.live |= not options.inventory
    cluster = cluster_or_inventory(options)
    profile = profile_of(options)
    then = _profile_afterwards(options, profile)
    state, stored = _read(options, cluster, profile)
    change, skipped = _change(options)
    if cluster is not None:
        stored += _stored_workloads(cluster, state, stored, change, skipped)
    if not any(change) and (then.name, then.gates) == (profile.name, profile.gates):
        raise UsageError(
            "name a change: files with objects, --delete, --drain, --cordon, --to-version or --to-feature-gates"
        )
    try:
        answer = impact(state, stored, change, then, TimeLimit(options.timeout), live=cluster is not None)
        answer = answer._replace(unknown=[*skipped, *answer.unknown])
    except OutOfTime:
        late = f"took longer than {options.timeout:g} s (--timeout)"
        raise UsageError(f"applying ResourceSlicePatches or reading the pods {late}") from None
    _write(options, answer, state)
    if state.failures or answer.unknown:
        return UNFINISHED
    return NEGATIVE if answer.harms else SUCCESS


def _profile_afterwards(options: Namespace, now: Profile) -> Profile:
    """The release and the feature gates of the cluster after the change.

    :raises UsageError: for those that do not exist.
    """
    from resourceapi.gates import GateError, parse
    from resourceapi.releases import Profile, UnknownRelease

    try:
        gates = ",".join(filter(None, (options.feature_gates, options.to_feature_gates)))
        return Profile(options.to_version or now.name, parse(gates))
    except UnknownRelease as error:
        raise UsageError(f"--to-version: {error}") from None
    except GateError as error:
        raise UsageError(f"--to-feature-gates: {error}") from None


def _read(
    options: Namespace, cluster: LiveCluster | None, profile: Profile
) -> tuple[ClusterState, list[Manifest]]:
    """The cluster as it is, and all its objects."""
    from claimcheck.answers.cluster_state import ClusterState
    from claimcheck.answers.reading import readable
    from commandline.reading import insist_on_one_reader
    from commandline.scenario import cluster_objects

    insist_on_one_reader(options.paths, options.inventory)
    state = ClusterState(profile, options.namespace)
    stored = list(readable(cluster_objects(options, cluster, state), state.failures))
    state.learn(stored, live=cluster is not None)
    return state, stored


def _stored_workloads(
    cluster: LiveCluster,
    state: ClusterState,
    stored: Sequence[Manifest],
    change: Change,
    skipped: list[str],
) -> list[Manifest]:
    """The workloads of a change that have pods already, as the cluster has them; those that cannot be read are noted."""
    from claimcheck.answers.impact.change import POD, ObjectId, makes_pods, workloads_with_pods
    from resourceapi.errors import Unanswerable

    def id_of(each: Manifest) -> ObjectId:
        return ObjectId.of(each.value, state.default_namespace)

    with_pods = workloads_with_pods((id_of(each), each.value) for each in stored if id_of(each).kind == POD)
    found: list[Manifest] = []
    for each in change.applied:
        id = id_of(each)
        if makes_pods(each.value) and id in with_pods:
            try:
                found.append(cluster.object(state.profile, (id.kind, id.name), id.namespace))
            except Unanswerable as error:
                skipped.append(f"{id}: {error}")
    return found


def _change(options: Namespace) -> tuple[Change, list[str]]:
    """The change that the options describe, and which files are not read that look like manifests.

    :raises UsageError: if a file cannot be read, or a name is none.
    """
    from claimcheck.answers.impact.change import Change
    from claimcheck.answers.outcome import Failure
    from claimcheck.answers.reading import read_files, readable
    from commandline.reading import find, note, search, told_of_exclusion

    failures: list[Failure] = []
    files = search(options)
    applied = list(readable(read_files(find(options, files)), failures))
    if failures:
        raise UsageError(f"{failures[0].file}: {failures[0].message}")
    left_out = [f"{each.file}: {each.findings[0].message}" for each in note(files, rendered=False)]
    left_out += [f"{place}: {message}" for place, message in told_of_exclusion(files, options)]
    deleted = [_named(each, options.namespace) for each in options.delete]
    change = Change(applied, deleted, frozenset(options.cordon), frozenset(options.drain))
    return change, left_out


def _named(argument: str, namespace: str) -> ObjectId:
    """An object by `TYPE/NAME`."""
    from claimcheck.answers.impact.change import CLUSTER_SCOPED, NODE, POD, ObjectId
    from resourceapi.kinds import KINDS
    from resourceapi.model.quotas import KIND as QUOTA

    kinds = {kind.lower(): kind for kind in (NODE, POD, QUOTA, *KINDS)}
    kinds |= {f"{word}s": kind for word, kind in kinds.items()} | {"deviceclasses": "DeviceClass"}
    word, _, name = argument.partition("/")
    kind = kinds.get(word.lower())
    if kind is None or not name:
        known = ", ".join(sorted({each.lower() for each in kinds.values()}))
        raise UsageError(f"--delete {argument}: expected TYPE/NAME; the types are {known}")
    return ObjectId(kind, "" if kind in CLUSTER_SCOPED else namespace, name)


def _write(options: Namespace, answer: Impact, state: ClusterState) -> None:
    from commandline import changed_devices_report, impact_report
    from commandline.impact_page import write_html
    from commandline.reports.escaping import complain
    from commandline.reports.writing import failure_lines, write_answer, write_text

    complain(*failure_lines(state.failures))
    if options.output == MARKDOWN:
        write_text(options, impact_report.markdown(answer))
    else:
        write_answer(
            options,
            answer,
            lines=impact_report.lines,
            document=impact_report.document,
            page=lambda stream, document: write_html(
                stream,
                document,
                impact_report.summary(answer),
                map(impact_report.rollout_line, answer.rollouts),
                changed_devices_report.lines(answer.devices),
            ),
        )
