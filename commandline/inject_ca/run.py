"""``claimcheck inject-ca``: the authority of the webhooks in the objects by which kube-apiserver asks them."""

from __future__ import annotations

import signal
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.reports.escaping import complain

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

UNFINISHED = 2
EXAMPLES = """examples:
  claimcheck inject-ca --config webhook.yaml
  claimcheck inject-ca --config webhook.yaml --bundle /etc/claimcheck/authority/ca.crt

Which objects: tls.inject in the configuration, with `by: inject-ca`. It needs the right to get and update these objects, so
that `claimcheck serve`, which evaluates what strangers write, need not have it. SIGTERM and SIGINT end it.

exit codes: 0 ended as told, 2 it could not be started
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Give a parser the options of the subcommand."""
    parser.description = (
        "Keep the webhooks' authority in webhook configurations and CRDs, as long as it runs."
    )
    parser.epilog = EXAMPLES
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument(
        "--config", metavar="FILE", required=True, help="the configuration of claimcheck serve"
    )
    parser.add_argument(
        "--bundle",
        metavar="FILE",
        help="PEM: the authorities to trust, looked at again and again (default: those in tls.directory)",
    )


def run(options: Namespace) -> int:
    """Look after the objects until told to end."""
    try:
        from serving.config_file import ConfigError
        from serving.logs import configure_logs
        from webhook.certificate_setup import injects_itself, make_injection
        from webhook.config import load_config
    except ImportError as error:  # the packages that only the service needs
        raise UsageError(f"inject-ca needs the package {error.name}, which is not installed") from None

    try:
        config = load_config(options.config)
        if options.bundle is None and config.get("tls", "directory") is None:
            raise UsageError("inject-ca: --bundle FILE is needed where tls.directory is not configured")
        bundle = None if options.bundle is None else Path(options.bundle)
        injection = make_injection(config, Path(), bundle)
        if injection is None or injects_itself(config):
            raise UsageError(
                "inject-ca: tls.inject must name objects, and say `by: inject-ca`: otherwise serve writes them"
            )
    except ConfigError as error:
        for problem in error.problems:
            complain(str(problem))
        return UNFINISHED
    configure_logs(config.get("logging", "level"))
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # the thread's as well: they are waited for
    ending = Event()
    Thread(target=injection.run, args=(ending,), daemon=True).start()
    signal.sigwait(signals)
    ending.set()
    return 0
