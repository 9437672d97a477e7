"""``claimcheck serve --check``: whether the service could start."""

from __future__ import annotations

from commandline.exit_codes import UNFINISHED
from commandline.reports.escaping import complain
from serving.config_file import ConfigError
from webhook import application
from webhook.config import load_config


def check(config: str, name: str) -> int:
    """Say whether the service could start with a configuration, as far as the files tell.

    :param name: what the user calls it.
    :returns: the exit code.
    """
    try:
        notes = application.check(load_config(config))
    except ConfigError as error:
        return refused(error)
    print(f"{name}: usable")
    for note in notes:
        complain(note)
    return 0


def refused(error: ConfigError) -> int:
    """Print what is wrong with a configuration, and return the exit code."""
    for problem in error.problems:
        complain(str(problem))
    return UNFINISHED
