"""Parses the arguments of a subcommand, and says in two lines what is wrong with them."""

from __future__ import annotations

import os
import re
import sys
from argparse import SUPPRESS, Action, ArgumentParser, HelpFormatter, Namespace
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from commandline.errors import UNFINISHED

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


END_OF_OPTIONS = "--"
_HIDDEN = "\0"  # no argument of a process contains it
#: Options of kubectl, kubeconform and other linters, and what does the same here.
_OF_OTHER_TOOLS = {
    "k": "kubectl kustomize DIR | claimcheck validate -",
    "kustomize": "kubectl kustomize DIR | claimcheck validate -",
    "kubernetes-version": "--kube-version",
    "ignore-filename-pattern": "--exclude",
    "ignore": "--exclude, or --disable for lints",
    "skip": "--exclude, or --disable for lints",
    "format": "--output",
    "no-color": "--color=never",
}


class Parser(ArgumentParser):
    """The parser of a subcommand. Options and files may come in any order, and options are not abbreviated.

    :param program: what users type in front of the subcommand.
    :param commands_with: the subcommands that have an option of this name.
    """

    def __init__(self, program: str, subcommand: str, commands_with: Callable[[str], list[str]]) -> None:
        super().__init__(f"{program} {subcommand}", formatter_class=Formatter, allow_abbrev=False)
        self._positionals.title = "arguments"
        self.program = program
        self.commands_with = commands_with
        #: The options that :mod:`commandline.config_file` can set: :meth:`parse` leaves them out if they are not given.
        self.configurable: list[Action] = []

    def make_configurable(self, names: Iterable[str]) -> None:
        """Leave it to a file to set these options where the command line does not.

        :param names: their long names; those that the command does not have are ignored.
        """
        known = self._option_string_actions
        self.configurable = [known[name] for each in names if (name := f"--{each}") in known]

    def parse(self, arguments: Sequence[str]) -> Namespace:
        """Parse the arguments.

        :raises SystemExit: if they are wrong, or ask for help; the user has been told.
        """
        self.usage = (
            self._usage()
        )  # while these arguments are parsed, argparse changes what it says about them
        options_end = arguments.index(END_OF_OPTIONS) if END_OF_OPTIONS in arguments else len(arguments)
        self._refuse_files(arguments[:options_end])
        # argparse forgets about the end of options where they and files are mixed, so what follows is made unlike an option
        hidden = [_HIDDEN + word if word.startswith("-") else word for word in arguments[options_end + 1 :]]
        defaults = [action.default for action in self.configurable]
        for action in self.configurable:
            action.default = SUPPRESS
        options, unknown = self.parse_known_intermixed_args([*arguments[:options_end], *hidden])
        for action, default in zip(self.configurable, defaults, strict=True):
            action.default = default
        if unknown:
            words = [word.removeprefix(_HIDDEN) for word in unknown]
            self.error(self._about(next((word for word in unknown if word.startswith("-")), words[0])))
        for name, value in vars(options).items():
            if isinstance(value, list):
                setattr(options, name, [_shown(each) for each in value])
            else:
                setattr(options, name, _shown(value))
        return options

    def _refuse_files(self, arguments: Sequence[str]) -> None:
        """End where a file has the name of an option: the shell's ``*`` and pre-commit pass names of strangers' files."""
        for word in arguments:
            if word.startswith("-") and len(word) > 1 and os.path.lexists(word):
                self.error(
                    f"{word} is an option, and a file in this directory; write ./{word} for the file, or put files after --"
                )

    def _usage(self) -> str:
        """How to use the command, on one line."""
        required = [
            f"{action.option_strings[-1]} {action.metavar}"
            for action in self._actions
            if action.required and action.option_strings
        ]
        words = [self.prog, *required, "[OPTIONS]", *map(_as_placeholder, self._get_positional_actions())]
        return " ".join(words)

    def format_help(self) -> str:
        """The text of ``--help``."""
        self.usage = self.usage or self._usage()
        if self.epilog and self.program not in ("", "claimcheck"):
            import re

            self.epilog = re.sub(r"\bclaimcheck (?=[a-z])", f"{self.program} ", self.epilog)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments, and end."""
        from commandline.reports.escaping import complain

        complain(f"{self.prog}: {message}", f"usage: {self.usage or self._usage()} (see {self.prog} --help)")
        raise SystemExit(UNFINISHED)

    def option_names(self) -> list[str]:
        """The names of all options that are in the help."""
        return [name for action in self._actions if action.help != SUPPRESS for name in action.option_strings]

    def _about(self, unknown: str) -> str:
        """What to say about an argument that does not exist."""
        if not unknown.startswith("-"):
            return f"unexpected argument {unknown}"
        from resourceapi.phrases import nearest

        name = unknown.partition("=")[0]
        if name.lstrip("-") in _OF_OTHER_TOOLS:
            return f"unknown option {name}; use {_OF_OTHER_TOOLS[name.lstrip('-')]}"
        names = self.option_names()
        longer = [option for option in names if name.startswith("--") and option.startswith(name)]
        if meant := nearest(name, names) or (longer[0] if len(longer) == 1 else ""):
            return f"unknown option {name}; did you mean {meant}?"
        others = self.commands_with(name)
        return f"unknown option {name}" + (f"; it is an option of {', '.join(others)}" if others else "")


def _shown(value: Any) -> Any:
    """A value as it was given."""
    return value.removeprefix(_HIDDEN) if isinstance(value, str) else value


def _as_placeholder(action: Action) -> str:
    """How an argument without a name is written in the line about usage."""
    name = str(action.metavar or "|".join(action.choices or ()) or action.dest.upper())
    return {"*": f"[{name}]...", "?": f"[{name}]"}.get(str(action.nargs), name)
