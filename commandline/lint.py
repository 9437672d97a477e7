"""``claimcheck lint``: prints what a code means that ``validate`` or ``doctor`` reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from commandline.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


DESCRIPTION = (
    "Print what a lint of `claimcheck validate` or a check of `claimcheck doctor` reports, why, and what to do. Without a code, "
    "list all of them."
)
EXAMPLES = """examples:
  claimcheck lint                   lists the lints and checks
  claimcheck lint CC007             prints the page of a lint
  claimcheck lint unknown-claim     the same by its name
  claimcheck lint CD010             what a finding of doctor means
"""


class Described(NamedTuple):
    """What a code means: a name, a sentence, and a page in Markdown."""

    name: str
    summary: str
    page: str


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    parser.add_argument("lints", nargs="*", metavar="CODE", help="codes or names, such as CC007")


def run(options: Namespace) -> int:
    """Print the pages that the options name, or which codes there are.

    :raises UsageError: for a code that does not exist.
    """
    codes = [_code(given) for given in options.lints]
    if codes:
        print("\n".join(described(code).page for code in codes), end="")
    else:
        names = code_names()
        width = max(map(len, names.values()))
        for code, name in names.items():
            print(f"{code}  {name.ljust(width)}  {described(code, with_page=False).summary}")
    return 0


def code_names() -> dict[str, str]:
    """The codes with their names, those of lints first."""
    from advice.lints.table import LINTS
    from claimcheck.answers.doctor.checks import CHECKS

    return {code: each.name for table in (LINTS, CHECKS) for code, each in table.items()}


def described(code: str, *, with_page: bool = True) -> Described:
    """What a code means that exists."""
    from advice.lints.table import LINTS, page_of
    from claimcheck.answers.doctor.checks import CHECKS

    if code in LINTS:
        lint = LINTS[code]
        return Described(lint.name, lint.summary, page_of(code) if with_page else "")
    check = CHECKS[code]
    return Described(check.name, check.summary, check.page)


def known_codes(option: str, given: list[str]) -> list[str]:
    """The codes in the values of an option, which can be those of lints and of checks: a repository has one file of settings.

    :raises UsageError: for one that does not exist.
    """
    if not given:
        return []
    from advice.lints.table import meant

    codes, names = [code.strip() for value in given for code in value.split(",")], code_names()
    for code in codes:
        if code not in names:
            known = meant(code, names)
            raise UsageError(
                f"{option} {code}: no lint has this code" + (f"; did you mean {known}?" if known else "")
            )
    return codes


def _code(given: str) -> str:
    from advice.lints.table import code_of, meant

    names = code_names()
    code = code_of(given, names)
    if not code:
        near = meant(given, names)
        raise UsageError(
            f"{given}: no lint has this code or name" + (f"; did you mean {near}?" if near else "")
        )
    return code
