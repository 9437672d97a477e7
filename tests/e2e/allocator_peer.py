"""The allocator peer: kube-scheduler's allocator behind files of scenarios, and the scenarios that come with it.

Its sources lie beside the project (`$CLAIMCHECK_SHARED` or `../shared`); the binary is kept in the user's cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.referee import shared

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "claimcheck" / "peers"

Scenario = dict[str, Any]


def is_available() -> bool:
    """Whether the peer's sources are there, so that it can be built."""
    return (shared() / "peer" / "allocator").is_dir()


def binary() -> Path:
    """The peer's program; built with Go if it is older than its sources. Raises CalledProcessError."""
    sources = shared() / "peer"
    program = _CACHE / "allocator-peer"
    newest = max(file.stat().st_mtime for file in (sources / "allocator").iterdir())
    if not program.exists() or program.stat().st_mtime < newest:
        subprocess.run(
            [str(sources / "build"), "allocator", str(_CACHE)], check=True, stdout=subprocess.DEVNULL
        )
    return program


def write_scenarios(directory: Path, prefixes: Iterable[str]) -> list[Path]:
    """The scenarios whose names begin so, one per file, in the order in which they are written."""
    script = shared() / "peer" / "scenarios.py"
    subprocess.run(
        [sys.executable, str(script), str(directory), *prefixes], check=True, stdout=subprocess.DEVNULL
    )
    return sorted(directory.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)


def answers(scenarios: Sequence[Scenario], *options: str) -> list[dict[str, Any]]:
    """What the peer says about scenarios, in the form of its output."""
    text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios)
    run = subprocess.run(
        [str(binary()), *options, "-"], input=text, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in run.stdout.splitlines()]


def answers_of_file(file: Path, *options: str) -> dict[str, Any]:
    """What the peer says about the scenario in a file."""
    run = subprocess.run([str(binary()), *options, str(file)], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer
