"""The options of ``claimcheck serve``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = "Serve admission and conversion webhooks for kube-apiserver over HTTPS."
EXAMPLES = """examples:
  claimcheck serve --config webhook.yaml
  claimcheck serve --demo inventory/      without a cluster, with an example review

--print-schema prints the JSON Schema of the configuration. On SIGTERM or SIGINT the service finishes open requests and
exits.

exit codes: 0 stopped by a signal, 2 the service could not be started
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    parser.add_argument("--config", metavar="FILE", help="the configuration in YAML or JSON")
    parser.add_argument(
        "--demo",
        metavar="FILE|DIR",
        help="serve on loopback with these objects in place of a cluster, and show an example review",
    )
    parser.add_argument("--check", action="store_true", help="only check the configuration")
    parser.add_argument(
        "--print-schema", action="store_true", help="print the JSON Schema of the configuration and exit"
    )
