"""The options of ``claimcheck lint``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = (
    "Print what a lint of `claimcheck validate` reports, why, and what to do. Without a code, list the lints."
)
EXAMPLES = """examples:
  claimcheck lint                   lists the lints
  claimcheck lint CC007             prints the page of a lint
  claimcheck lint unknown-claim     the same by its name
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    parser.add_argument("lints", nargs="*", metavar="CODE", help="codes or names of lints, such as CC007")
