"""``claimcheck quota``: what claims and pods count against ResourceQuotas, and whether they fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED
from commandline.options import (
    add_cluster,
    add_inventory,
    add_namespace,
    add_namespace_labels,
    add_output,
    add_paths,
    add_server_options,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable

    from advice.findings import Result
    from claimcheck.answers.outcome import Failure
    from documents.manifest import Manifest


DESCRIPTION = (
    "Show what claims count against ResourceQuotas, including every alternative, and how much quota is left."
)
EXAMPLES = """examples:
  claimcheck quota claim.yaml                          what each request and alternative counts
  claimcheck quota --quota quota.yaml manifests/       whether the claims fit, in the order of the files
  claimcheck quota --inventory cluster/ claim.yaml     with the quotas, classes and claims of a cluster
  claimcheck quota --live -n team claim.yaml           with those of the cluster that kubectl asks

For each device class, a request counts the largest number among its alternatives, and a claim counts the sum over its
requests. Claims from templates count when a Pod, Deployment, StatefulSet, … in the files uses the template.

exit codes: 0 everything fits, 1 something does not fit or is invalid, 2 some input could not be read
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_paths(parser)
    parser.add_argument(
        "--quota",
        metavar="FILE",
        action="append",
        default=[],
        help="ResourceQuotas; those in the manifests are used as well",
    )
    add_inventory(
        parser, "objects that exist already; their claims and pods are charged first; a directory or a file"
    )
    add_cluster(parser, "take the quotas and what they are charged with from a live cluster")
    add_namespace(parser)
    add_namespace_labels(parser)
    add_server_options(parser)
    add_output(parser)


def run(options: Namespace) -> int:
    """Charge everything that the options name, and write the answer.

    :raises UsageError: for a release or gates that do not exist.
    """
    from claimcheck.answers.quota import charge, charging_objects
    from commandline.live_cluster import cluster_or_inventory
    from commandline.options import insist_on_paths, profile_of
    from commandline.quota_report import document, lines
    from commandline.reading import context_of, insist_on_one_reader, read_named
    from commandline.reports.writing import write_answer

    insist_on_paths(options)
    cluster = cluster_or_inventory(options)
    profile = profile_of(options)
    insist_on_one_reader(options.paths, options.inventory, options.quota)
    context = context_of(options.namespace_labels)
    new = _new(options)
    if cluster is None:
        existing = read_named("--inventory", options.inventory)
    else:
        existing = charging_objects(cluster, profile, _namespaces(new, options))
    quotas = read_named("--quota", options.quota)
    answer = charge(new, existing, quotas, context, profile, options.namespace, is_live=cluster is not None)
    write_answer(options, answer, lines=lines, document=document)
    if answer.failures:
        return UNFINISHED
    return NEGATIVE if any(statement.problems for statement in answer.account.statements) else SUCCESS


def _new(options: Namespace) -> list[Manifest | Result | Failure]:
    """What the files contain."""
    from claimcheck.answers.cluster_context import in_namespace
    from claimcheck.answers.reading import read_files
    from commandline.reading import find

    return list(in_namespace(read_files(find(options)), options.namespace_given))


def _namespaces(given: Iterable[Manifest | Result | Failure], options: Namespace) -> list[str]:
    """The namespaces of the objects in files."""
    from resourceapi.manifests import namespace_of

    values = [value for each in given if isinstance(value := getattr(each, "value", None), dict)]
    return list(dict.fromkeys(namespace_of(value, options.namespace) for value in values)) or [
        options.namespace
    ]
