"""The options of ``claimcheck version``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import add_output, describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = "Print the version of claimcheck, and the Kubernetes releases that it can answer as."
EXAMPLES = """examples:
  claimcheck version
  claimcheck version -o json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    add_output(parser)
