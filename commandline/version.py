"""``claimcheck version``: the version, and the Kubernetes releases that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commandline.options import add_output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator


DESCRIPTION = "Print the version of claimcheck, and the Kubernetes releases that it can answer as."
EXAMPLES = """examples:
  claimcheck version
  claimcheck version -o json
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_output(parser)


def run(options: Namespace) -> int:
    """Print the version."""
    from commandline.distribution import version
    from commandline.reports.writing import write_answer

    write_answer(options, version(), lines=_lines, document=_document)
    return 0


def _lines(version: str) -> Iterator[str]:
    from resourceapi.measured import CLASSIC_MINOR, MODERN_MINORS, measured

    yield f"claimcheck {version}"
    releases = ", ".join(measured(minor) for minor in MODERN_MINORS)
    yield f"answers as Kubernetes {releases}, and as {measured(CLASSIC_MINOR)} about classic DRA"


def _document(version: str) -> dict[str, Any]:
    from resourceapi.measured import MEASURED, NEWEST, OLDEST, measured
    from resourceapi.releases import CLASSIC

    return {
        "version": version,
        "kubernetes": {
            "oldest": f"1.{OLDEST}",
            "newest": f"1.{NEWEST}",
            "classic": CLASSIC,
            "measured": {f"1.{minor}": measured(minor) for minor in MEASURED},
        },
    }
