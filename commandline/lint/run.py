"""Runs ``claimcheck lint``: prints the pages of lints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advice.lints.pages import page_of
from advice.lints.table import LINTS, code_of, meant
from commandline.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Print the pages that the options name, or which lints there are.

    :raises UsageError: for a lint that does not exist.
    """
    codes = [_code(given) for given in options.lints]
    if codes:
        print("\n".join(map(page_of, codes)), end="")
    else:
        width = max(len(lint.name) for lint in LINTS.values())
        for lint in LINTS.values():
            print(f"{lint.code}  {lint.name.ljust(width)}  {lint.summary}")
    return 0


def _code(given: str) -> str:
    code = code_of(given)
    if not code:
        near = meant(given)
        raise UsageError(
            f"{given}: no lint has this code or name" + (f"; did you mean {near}?" if near else "")
        )
    return code
