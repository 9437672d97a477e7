"""The options of ``claimcheck inject-ca``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.options import describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = (
    "Keep the webhooks' certificate authority up to date in webhook configurations and CRDs until stopped."
)
EXAMPLES = """examples:
  claimcheck inject-ca --config webhook.yaml
  claimcheck inject-ca --config webhook.yaml --bundle /etc/claimcheck/authority/ca.crt

tls.inject in the configuration names the objects, with `by: inject-ca`. This process needs the right to get and update
them, so that `claimcheck serve`, which evaluates input from strangers, does not need it. SIGTERM and SIGINT stop it.

exit codes: 0 stopped by a signal, 2 it could not be started
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    parser.add_argument(
        "--config", metavar="FILE", required=True, help="the configuration of claimcheck serve"
    )
    parser.add_argument(
        "--bundle",
        metavar="FILE",
        help="the authorities to trust (PEM), read again when the file changes; default: those in tls.directory",
    )
