"""The options of ``claimcheck quota``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import (
    add_cluster,
    add_inventory,
    add_namespace,
    add_namespace_labels,
    add_output,
    add_paths,
    add_server_options,
    describe,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser

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
    describe(parser, DESCRIPTION, EXAMPLES)
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
