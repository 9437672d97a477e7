"""The options of ``claimcheck completion``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.completion.scripts import SCRIPTS
from commandline.options import describe

if TYPE_CHECKING:
    from argparse import ArgumentParser

DESCRIPTION = "Print a script with which a shell completes commands, options and values."
EXAMPLES = """examples:
  source <(claimcheck completion bash)                                    for this shell; or in ~/.bashrc
  source <(claimcheck completion zsh)                                     in ~/.zshrc, after compinit
  claimcheck completion fish > ~/.config/fish/completions/claimcheck.fish

The script asks the installed claimcheck, so it need not be made again for a new version. kubectl completes
`kubectl claimcheck` by itself, if kubectl_complete-claimcheck is on the PATH.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    describe(parser, DESCRIPTION, EXAMPLES)
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="the shell that reads the script")
