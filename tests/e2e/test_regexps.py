"""Random regular expressions get from the product what Go's regexp answers."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deviceselectors.runtime import regexes
from deviceselectors.runtime.regex_syntax import RegexError
from tests.e2e import random_patterns
from tests.e2e.seed import SEED

PATTERNS = int(os.environ.get("CLAIMCHECK_E2E_PATTERNS") or 20_000)
MUST_COMPILE = 0.3

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")


def test_random_patterns_get_go_s_answer(tmp_path: Path) -> None:
    """All matches in some texts, or the text of the error, for every pattern. CLAIMCHECK_E2E_SEED repeats a run."""
    print(f"CLAIMCHECK_E2E_SEED={SEED}")
    draw = random.Random(SEED)
    questions = [
        {"pattern": random_patterns.pattern(draw), "texts": random_patterns.texts(draw)}
        for _ in range(PATTERNS)
    ]
    questions += [
        {
            "pattern": f"{flags}\\{p}{{{name}}}",
            "texts": ["aAzZ1_ \u017f\u212a", "αΩ", "\u01c5", "日", "\U000e0fff"],
        }
        for name in random_patterns.names()
        for flags in ("", "(?i)")
        for p in "pP"
    ]
    answers = _ask_go(tmp_path, questions)
    given = [_answer(question) for question in questions]
    different = [(q, g, a) for q, g, a in zip(questions, given, answers, strict=True) if g != a]
    assert sum("found" in answer for answer in answers) >= MUST_COMPILE * len(questions)
    assert not different[:10]


def _ask_go(directory: Path, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    program = directory / "regexps"
    source = Path(__file__).parent / "regexps" / "main.go"
    subprocess.run(["go", "build", "-o", str(program), str(source)], check=True)
    text = "\n".join(json.dumps(question) for question in questions)
    done = subprocess.run(
        [str(program)], input=text, capture_output=True, check=True, text=True, encoding="utf-8"
    )
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    try:
        compiled = regexes.compile_regex(question["pattern"])
    except RegexError as error:
        return {"error": str(error)}
    return {"found": [compiled.find_all(text) for text in question["texts"]]}
