"""``claimcheck migrate``: rewrites manifests of classic DRA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import FORMATS, add_output, add_paths, add_rewriting

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


DESCRIPTION = (
    "Rewrite objects of classic DRA (resource.k8s.io/v1alpha2, and spec.controller of v1alpha3), and the pods that use "
    "them, for resource.k8s.io/v1. Comments and layout are kept. What has no equivalent is reported, with the reason."
)
EXAMPLES = """examples:
  claimcheck migrate manifests/                       writes the result to standard output
  claimcheck migrate --in-place manifests/            rewrites the files
  claimcheck migrate --check manifests/               lists the files that would change
  claimcheck migrate --diff manifests/                shows what would change
  claimcheck migrate --mapping parameters.yaml manifests/
  claimcheck migrate manifests/ | claimcheck validate -

Name all files that belong together: what a claim asks for is in its parameters, and which driver it is for is in its
class. Parameters of the drivers of NVIDIA and Intel and of the example drivers become selectors, counts and configuration;
others become opaque configuration for the driver, unless a mapping says something else.

exit codes: 0 everything is migrated, 1 an object cannot be migrated, or a file would change (--check, --diff), 2 a file could not be read or written
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_paths(parser)
    parser.add_argument(
        "--mapping",
        metavar="FILE",
        action="append",
        default=[],
        help="what becomes of the parameters of a driver, kind by kind; goes before what is built in; can be repeated",
    )
    add_rewriting(parser)
    parser.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="no notes, no summary: report only what is lost, and what cannot be migrated",
    )
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAMESPACE",
        help="namespace of objects that do not name one; default: default",
    )
    add_output(parser, FORMATS)


def run(options: Namespace) -> int:
    """Migrate the files that the options name. Objects that cannot be migrated stay as they are."""
    from commandline.migrate_files import migrate

    return migrate(options)
