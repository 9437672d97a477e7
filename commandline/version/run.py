"""Runs ``claimcheck version``: prints the version, and the Kubernetes releases that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resourceapi.releases import CLASSIC, NEWEST, OLDEST

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
    yield f"answers as Kubernetes 1.{OLDEST} to 1.{NEWEST}, and as {CLASSIC} about classic DRA"


def _document(version: str) -> dict[str, Any]:
    return {
        "version": version,
        "kubernetes": {"oldest": f"1.{OLDEST}", "newest": f"1.{NEWEST}", "classic": CLASSIC},
    }
