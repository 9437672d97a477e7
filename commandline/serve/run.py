"""Runs ``claimcheck serve``: the webhooks as a configuration file describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.exit_codes import UNFINISHED
from commandline.reports.escaping import complain

if TYPE_CHECKING:
    from argparse import Namespace


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
