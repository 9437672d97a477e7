"""Runs ``claimcheck version``: prints the version, and the Kubernetes releases that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resourceapi.measured import CLASSIC_MINOR, MEASURED, MODERN_MINORS, NEWEST, OLDEST, measured
from resourceapi.releases import CLASSIC

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator


def run(options: Namespace) -> int:
    """Print the version."""
    from commandline.distribution import version
    from commandline.reports.writing import write_answer

    write_answer(options, version(), lines=_lines, document=_document)
    return 0


def _lines(version: str) -> Iterator[str]:
    yield f"claimcheck {version}"
    releases = ", ".join(measured(minor) for minor in MODERN_MINORS)
    yield f"answers as Kubernetes {releases}, and as {measured(CLASSIC_MINOR)} about classic DRA"


def _document(version: str) -> dict[str, Any]:
    return {
        "version": version,
        "kubernetes": {
            "oldest": f"1.{OLDEST}",
            "newest": f"1.{NEWEST}",
            "classic": CLASSIC,
            "measured": {f"1.{minor}": measured(minor) for minor in MEASURED},
        },
    }
