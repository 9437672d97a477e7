"""``claimcheck schedule``: the sidecar as a configuration file describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import SUCCESS, UNFINISHED, UsageError
from commandline.reports.escaping import complain

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


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
    parser.add_argument("--config", metavar="FILE", help="the configuration in YAML or JSON")
    parser.add_argument("--check", action="store_true", help="only check the configuration")
    parser.add_argument(
        "--print-schema", action="store_true", help="print the JSON Schema of the configuration and exit"
    )


def run(options: Namespace) -> int:
    """Serve until a signal stops the process."""
    try:
        from scheduler.config import load_config, schema_of_config
        from serving.config_file import ConfigError
    except ImportError as error:  # a package that only services need
        raise UsageError(f"schedule needs the package {error.name}, which is not installed") from None

    if options.print_schema:
        import json

        print(json.dumps(schema_of_config(), indent=2))
        return SUCCESS
    if options.config is None:
        raise UsageError("schedule: --config FILE is needed")
    try:
        from scheduler import application

        config = load_config(options.config)
        if options.check:
            notes = application.check(config)
            print(f"{options.config}: usable")
            complain(*notes)
        else:
            application.serve(config)
    except ConfigError as error:
        complain(*map(str, error.problems))
        return UNFINISHED
    return SUCCESS
