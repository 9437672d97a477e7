"""Runs ``claimcheck serve``: the webhooks as a configuration file describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError

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

        return demonstrate(options.demo, check_only=options.check)
    if options.config is None:
        raise UsageError("serve: --config FILE is needed")
    if options.check:
        from commandline.serve.check import check

        return check(options.config, options.config)
    from commandline.serve.check import refused

    try:
        from webhook import application

        application.serve(load_config(options.config))
    except ConfigError as error:
        return refused(error)
    return 0
