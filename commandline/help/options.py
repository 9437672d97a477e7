"""The options of ``claimcheck help``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = "Show how to use a command, or which commands there are."
EXAMPLES = """examples:
  claimcheck help
  claimcheck help validate      the same as claimcheck validate --help
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    parser.add_argument("topic", metavar="COMMAND", nargs="?", default="", help="the command to show")
