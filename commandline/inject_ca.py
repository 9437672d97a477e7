"""``claimcheck inject-ca``: keeps the certificate authority in webhook configurations and CRDs up to date."""

from __future__ import annotations

import signal
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from commandline.errors import UNFINISHED, UsageError
from commandline.reports.escaping import complain

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


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
    parser.add_argument(
        "--config", metavar="FILE", required=True, help="the configuration of claimcheck serve"
    )
    parser.add_argument(
        "--bundle",
        metavar="FILE",
        help="the authorities to trust (PEM), read again when the file changes; default: those in tls.directory",
    )


def run(options: Namespace) -> int:
    """Update the objects until a signal stops the process."""
    try:
        from serving.config_file import ConfigError
        from serving.logs import configure_logs
        from webhook.config import load_config
        from webhook.injection import injects_itself, make_injection
    except ImportError as error:  # a package that only the service needs
        raise UsageError(f"inject-ca needs the package {error.name}, which is not installed") from None

    try:
        config = load_config(options.config)
        if options.bundle is None and config.get("tls", "directory") is None:
            raise UsageError(
                "inject-ca: without tls.directory in the configuration, --bundle FILE is required"
            )
        bundle = None if options.bundle is None else Path(options.bundle)
        injection = make_injection(config, Path(), bundle)
        if injection is None or injects_itself(config):
            raise UsageError(
                "inject-ca: tls.inject must name objects with `by: inject-ca`; without it, claimcheck serve updates them"
            )
    except ConfigError as error:
        complain(*map(str, error.problems))
        return UNFINISHED
    configure_logs(config.get("logging", "level"))
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # in the new thread too, so that sigwait gets them
    ending = Event()
    Thread(target=injection.run, args=(ending,), daemon=True).start()
    signal.sigwait(signals)
    ending.set()
    return 0
