"""Formats ``--help`` in the width of the terminal."""

from __future__ import annotations

import os
import re
import sys
from argparse import Action, HelpFormatter

_COLUMNS = 80  # where there is no terminal
_WIDEST = 120  # longer lines are hard to read
# An example: the command, blanks, what it does; and a line with more about the one above.
_EXAMPLE = re.compile(r"  (\S.*?)(?: {2,}(?:# )?(\S.*))?")
_MORE = re.compile(r" {5,}(\S.*)")


class Formatter(HelpFormatter):
    """Wraps descriptions and examples.

    By default, argparse imports ``shutil`` for the width of the terminal whenever an option is added, which takes several
    milliseconds of every run.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)

    def _format_action_invocation(self, action: Action) -> str:
        """The names of an option, and its value once."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """The paragraphs of a text in this width; examples stay lines of their own."""
        from textwrap import fill

        return "\n\n".join(
            _examples(block.split("\n"), width)
            if "\n  " in block
            else fill(" ".join(block.split("\n")), width, break_on_hyphens=False)
            for block in text.strip("\n").split("\n\n")
        )


def columns() -> int:
    """The width of the terminal, unless the variable ``COLUMNS`` overrides it."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return min(os.get_terminal_size(sys.__stdout__.fileno()).columns or _COLUMNS, _WIDEST)  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # closed, or not a terminal
        return _COLUMNS


def _examples(lines: list[str], width: int) -> str:
    """A block of examples: as it is if it fits, else with what each does below it."""
    if max(map(len, lines)) <= width:
        return "\n".join(lines)
    from textwrap import fill

    shown: list[str] = []
    for line in re.sub(r" *\\\n +", " ", "\n".join(lines)).split("\n"):
        if more := _MORE.fullmatch(line):
            shown.append(fill(more[1], width, initial_indent=" " * 6, subsequent_indent=" " * 6))
        elif example := _EXAMPLE.fullmatch(line):
            shown.append(_command(example[1], width))
            if example[2]:
                shown.append(fill(example[2], width, initial_indent=" " * 6, subsequent_indent=" " * 6))
        else:
            shown.append(fill(line, width))
    return "\n".join(shown)


def _command(command: str, width: int) -> str:
    """A command in this width, continued as in a shell."""
    from textwrap import wrap

    lines = wrap(
        command,
        width - 2,
        initial_indent="  ",
        subsequent_indent=" " * 4,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return " \\\n".join(lines)
