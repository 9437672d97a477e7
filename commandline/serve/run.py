"""``claimcheck serve``: the webhooks, from a configuration file."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.reports.escaping import complain

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

UNFINISHED = 2
EXAMPLES = """examples:
  claimcheck serve --config webhook.yaml
  claimcheck serve --demo inventory/      without a cluster, with an example review

The file's JSON Schema is printed with --print-schema. SIGTERM and SIGINT drain the service and end it.

exit codes: 0 ended as told, 2 the service could not be started
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Give a parser the options of the subcommand."""
    parser.description = "Serve admission and conversion webhooks for kube-apiserver over HTTPS."
    parser.epilog = EXAMPLES
    parser.formatter_class = RawDescriptionHelpFormatter
    parser.add_argument("--config", metavar="FILE", help="the configuration: YAML or JSON")
    parser.add_argument(
        "--demo",
        metavar="FILE|DIR",
        help="serve on loopback with these objects in place of a cluster, and show an example review",
    )
    parser.add_argument("--check", action="store_true", help="only say whether the configuration is usable")
    parser.add_argument(
        "--print-schema", action="store_true", help="print the JSON Schema of the configuration and exit"
    )


def run(options: Namespace) -> int:
    """Serve until told to end."""
    try:
        from serving.config_file import ConfigError
        from webhook.config import load_config, schema_of_config
    except ImportError as error:  # the packages that only the service needs
        raise UsageError(f"serve needs the package {error.name}, which is not installed") from None

    if options.print_schema:
        import json

        print(json.dumps(schema_of_config(), indent=2))
        return 0
    if options.demo is not None:
        from commandline.serve.demonstration import demonstrate

        return demonstrate(options.demo)
    if options.config is None:
        raise UsageError("serve: --config FILE is needed")
    try:
        config = load_config(options.config)
        from webhook import application

        if options.check:
            application.check(config)
            print(f"{options.config}: usable")
        else:
            application.serve(config)
    except ConfigError as error:
        for problem in error.problems:
            complain(str(problem))
        return UNFINISHED
    return 0
