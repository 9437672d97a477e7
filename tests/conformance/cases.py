"""Reads corpus files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.conformance.answers import Case


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a JSONL file, perhaps compressed. Raises OSError or ValueError, which names the line."""
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else open(path, encoding="utf-8") as lines
    ):
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from error


def is_about_cel(case: Case) -> bool:
    """What `--without-cel` leaves out: cases made for CEL, and those with an error about a selector's expression."""
    causes: Iterable[dict[str, str]] = case.get("expect", {}).get("causes", ())
    return case["note"].startswith("cel in") or any(c["field"].endswith(".cel.expression") for c in causes)
