"""Runs ``claimcheck completion``: prints the script for a shell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from commandline.completion.scripts import SCRIPTS
from commandline.exit_codes import SUCCESS

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Print the script."""
    sys.stdout.write(SCRIPTS[options.shell])
    return SUCCESS
