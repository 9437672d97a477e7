"""``claimcheck lint``: prints the pages of lints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


DESCRIPTION = (
    "Print what a lint of `claimcheck validate` reports, why, and what to do. Without a code, list the lints."
)
EXAMPLES = """examples:
  claimcheck lint                   lists the lints
  claimcheck lint CC007             prints the page of a lint
  claimcheck lint unknown-claim     the same by its name
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    parser.add_argument("lints", nargs="*", metavar="CODE", help="codes or names of lints, such as CC007")


def run(options: Namespace) -> int:
    """Print the pages that the options name, or which lints there are.

    :raises UsageError: for a lint that does not exist.
    """
    from advice.lints.table import LINTS, page_of

    codes = [_code(given) for given in options.lints]
    if codes:
        print("\n".join(map(page_of, codes)), end="")
    else:
        width = max(len(lint.name) for lint in LINTS.values())
        for lint in LINTS.values():
            print(f"{lint.code}  {lint.name.ljust(width)}  {lint.summary}")
    return 0


def _code(given: str) -> str:
    from advice.lints.table import code_of, meant

    code = code_of(given)
    if not code:
        near = meant(given)
        raise UsageError(
            f"{given}: no lint has this code or name" + (f"; did you mean {near}?" if near else "")
        )
    return code
