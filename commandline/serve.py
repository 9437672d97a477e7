"""``claimcheck serve``: the webhooks as a configuration file describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UNFINISHED, UsageError
from commandline.reports.escaping import complain

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from serving.config_file import ConfigError


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


def run(options: Namespace) -> int:
    """Serve until a signal stops the process."""
    try:
        from serving.config_file import ConfigError
        from webhook.config import load_config, schema_of_config
    except ImportError as error:  # a package that only the service needs
        raise UsageError(f"serve needs the package {error.name}, which is not installed") from None

    if options.print_schema:
        import json

        print(json.dumps(schema_of_config(), indent=2))
        return 0
    if options.demo is not None:
        from commandline.serve_demonstration import demonstrate

        return demonstrate(options.demo, check if options.check else None)
    if options.config is None:
        raise UsageError("serve: --config FILE is needed")
    if options.check:
        return check(options.config, options.config)
    try:
        from webhook import application

        application.serve(load_config(options.config))
    except ConfigError as error:
        return refused(error)
    return 0


def check(config: str, name: str) -> int:
    """Say whether the service could start with a configuration, as far as the files tell.

    :param name: what the user calls it.
    :returns: the exit code.
    """
    from serving.config_file import ConfigError
    from webhook import application
    from webhook.config import load_config

    try:
        notes = application.check(load_config(config))
    except ConfigError as error:
        return refused(error)
    print(f"{name}: usable")
    complain(*notes)
    return 0


def refused(error: ConfigError) -> int:
    """Print what is wrong with a configuration, and return the exit code."""
    complain(*map(str, error.problems))
    return UNFINISHED
