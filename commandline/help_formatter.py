"""Formats ``--help`` without argparse's slow look-up of the terminal's width."""

from __future__ import annotations

import os
import sys
from argparse import RawDescriptionHelpFormatter

_COLUMNS = 80  # where there is no terminal


class Formatter(RawDescriptionHelpFormatter):
    """Keeps the line breaks of descriptions and examples.

    By default, argparse imports ``shutil`` for the width of the terminal whenever an option is added, which takes several
    milliseconds of every run.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    """The width of the terminal, unless the variable ``COLUMNS`` overrides it."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _COLUMNS  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, or not a terminal
        return _COLUMNS
