"""The options of ``claimcheck schedule``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = "Give devices to the claims of pods, as the extender of a kube-scheduler."
EXAMPLES = """examples:
  claimcheck schedule --config scheduler.yaml
  claimcheck schedule --config scheduler.yaml --check

--print-schema prints the JSON Schema of the configuration. On SIGTERM or SIGINT the service finishes open requests, lets
another replica lead, and exits.

exit codes: 0 stopped by a signal, 2 the service could not be started
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    parser.add_argument("--config", metavar="FILE", help="the configuration in YAML or JSON")
    parser.add_argument("--check", action="store_true", help="only check the configuration")
    parser.add_argument(
        "--print-schema", action="store_true", help="print the JSON Schema of the configuration and exit"
    )
