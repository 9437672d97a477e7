"""Runs ``claimcheck schedule``: the sidecar as a configuration file describes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.exit_codes import SUCCESS, UNFINISHED
from commandline.reports.escaping import complain

if TYPE_CHECKING:
    from argparse import Namespace


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
            for note in notes:
                complain(note)
        else:
            application.serve(config)
    except ConfigError as error:
        for problem in error.problems:
            complain(str(problem))
        return UNFINISHED
    return SUCCESS
