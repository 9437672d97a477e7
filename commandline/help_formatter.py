"""The command's help: argparse's, with descriptions and examples as they are written."""

from __future__ import annotations

import os
import sys
from argparse import RawDescriptionHelpFormatter

_COLUMNS = 80  # where there is no terminal


class Formatter(RawDescriptionHelpFormatter):
    """As argparse writes help, which asks for the width of the terminal with a module that takes long to load.

    It does so for every option that is added, so that each run would pay for it.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    """The width of the terminal, or what the environment says it is."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _COLUMNS  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, or no terminal
        return _COLUMNS
