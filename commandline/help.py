"""``claimcheck help``: how to use a command, or which commands there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.parser import columns
from commandline.subcommands import ABOUT, GROUPS, SUBCOMMANDS, parser_of, program

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


DESCRIPTION = "Show how to use a command, or which commands there are."
EXAMPLES = """examples:
  claimcheck help
  claimcheck help validate      the same as claimcheck validate --help
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    parser.add_argument("topic", metavar="COMMAND", nargs="?", default="", help="the command to show")


def run(options: Namespace) -> int:
    """Print the help.

    :raises UsageError: for a command that does not exist.
    """
    if options.topic and options.topic not in SUBCOMMANDS:
        wrong, usage = unknown_command(options.topic)
        raise UsageError(wrong.removeprefix("claimcheck: "), usage)
    print(parser_of(options.topic).format_help() if options.topic else overview(), end="")
    return 0


def overview() -> str:
    """Which commands there are."""
    from textwrap import fill

    name, width = program(), columns() - 2
    indent = max(map(len, SUBCOMMANDS)) + 4
    blocks = [f"usage: {name} COMMAND [OPTIONS]", fill(ABOUT, width)]
    for title, group in GROUPS.items():
        rows = (
            fill(f"  {command.ljust(indent - 2)}{summary}", width, subsequent_indent=" " * indent)
            for command, summary in group.items()
        )
        blocks.append("\n".join((f"{title}:", *rows)))
    blocks.append(f"{name} COMMAND --help shows the options of a command, and examples.")
    return "\n\n".join(blocks) + "\n"


def unknown_command(given: str) -> tuple[str, str]:
    """The lines of what to say about a command that does not exist."""
    from resourceapi.phrases import nearest

    name = program()
    if given.startswith("-"):
        wrong = f"unknown option {given} in front of the command: options follow it"
    else:
        meant = nearest(given, SUBCOMMANDS)
        wrong = f"unknown command {given}" + (f"; did you mean {meant}?" if meant else "")
    return f"claimcheck: {wrong}", f"usage: {name} COMMAND [OPTIONS] (see {name} --help)"
