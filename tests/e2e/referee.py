"""The CEL referee: upstream's own compiler and evaluator behind standard input and output.

Its sources lie beside the project (`$CLAIMCHECK_SHARED` or `../shared`); the binary is kept in the user's cache.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "claimcheck" / "peers"

Question = dict[str, Any]
Answer = dict[str, Any]


def shared() -> Path:
    """The directory with the measured facts; it need not be there."""
    return Path(os.environ.get("CLAIMCHECK_SHARED") or Path(__file__).parents[3] / "shared")


def is_available() -> bool:
    """Whether the referee's sources are there, so that it can be built."""
    return (shared() / "peer" / "build").exists()


def referee() -> Path:
    """The referee's program; built with Go if it is older than its sources. Raises CalledProcessError."""
    sources = shared() / "peer"
    binary = _CACHE / "cel-peer"
    newest = max(file.stat().st_mtime for file in (sources / "cel").iterdir())
    if not binary.exists() or binary.stat().st_mtime < newest:
        subprocess.run([str(sources / "build"), "cel", str(_CACHE)], check=True, stdout=subprocess.DEVNULL)
    return binary


def ask(questions: list[Question], *options: str) -> list[Answer]:
    """The referee's answers, one for each question. `options` are flags of the program such as `-bench`."""
    text = "\n".join(json.dumps(question) for question in questions)
    command = [str(referee()), *options]
    done = subprocess.run(command, input=text, capture_output=True, check=True, text=True, encoding="utf-8")
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    if len(answers) != len(questions):
        raise ValueError(f"{len(questions)} questions, {len(answers)} answers")
    return answers
