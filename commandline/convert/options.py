"""The options of ``claimcheck convert``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import add_paths, add_rewriting, describe
from resourceapi.model.versions import GROUP, SCHEMAS
from resourceapi.releases import MODERN_RELEASES, PROPOSALS

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = f"Rewrite objects of {GROUP} in another API version. Comments and layout are kept."
EXAMPLES = """examples:
  claimcheck convert --to v1 claim.yaml               writes the result to standard output
  claimcheck convert --to v1 --in-place manifests/    rewrites the files
  claimcheck convert --to v1 --check manifests/       lists the files that are not in v1 yet
  claimcheck convert --to v1 --diff manifests/        shows what would change
  claimcheck convert --to v1beta1 --kube-version 1.32 claim.yaml
                                                      for a cluster of that release
  kubectl get resourceclaims -o yaml | claimcheck convert --to v1beta1 -

Other objects in the files are left unchanged. If the version cannot represent a value, the error names the field.

exit codes: 0 everything is converted, 1 an object cannot be converted, or a file would change (--check, --diff), 2 a file could not be read or written
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    add_paths(parser)
    parser.add_argument(
        "--to",
        metavar="VERSION",
        required=True,
        type=lambda version: version.removeprefix(f"{GROUP}/"),
        choices=tuple(SCHEMAS),
        help=", ".join(SCHEMAS),
    )
    parser.add_argument(
        "--kube-version",
        metavar="RELEASE",
        type=_release,
        choices=MODERN_RELEASES,
        help="the release that the files are for: versions and fields that it does not have are errors; "
        f"{', '.join(MODERN_RELEASES)} ({PROPOSALS} is the newest one with the fields of enhancement proposals); "
        f"default: every version, with the fields of {MODERN_RELEASES[-2]}. What it drops because a gate is off, `validate` tells",
    )
    add_rewriting(parser)


def _release(given: str) -> str:
    """A release by its name: without a leading `v` and a patch number, as `validate` takes it."""
    from resourceapi.releases import Profile, UnknownRelease

    try:
        return Profile(given).name
    except UnknownRelease:  # it is none of the choices
        return given
