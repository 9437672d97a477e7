"""Replays the measured answers to CEL expressions and prints how many agree.

python -m tests.deviceselectors.replay [-v] [FILE]
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment

_LIMIT = 1_000_000


def corpus() -> Path:
    """The file of measured answers."""
    shared = os.environ.get("CLAIMCHECK_SHARED", str(Path(__file__).parents[3] / "shared"))
    return Path(shared) / "corpus" / "cel.jsonl"


def outcome(expect: dict[str, Any]) -> str:
    """The class of an answer as far as compiling decides it."""
    error = expect.get("error")
    if error:
        is_syntax = "Syntax error" in error or re.search(r"recursion|lookahead|recovery", error)
        return "syntax" if is_syntax else "type"
    return "cost" if expect["maxCost"] > _LIMIT else "compiles"


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """What the compiler says, in the form of the measured answers."""
    environment = Environment(case["env"], case["cc"], case["lt"], case["derived"])
    compiled = compile_expression(case["expr"], environment)
    if compiled.error is not None:
        return {"error": compiled.error, "errType": compiled.error_type, "maxCost": compiled.max_cost}
    assert compiled.output_type is not None
    return {"outputType": compiled.output_type.output, "maxCost": compiled.max_cost}


def _positions(error: str | None) -> list[str]:
    return re.findall(r"ERROR: <input>:(-?\d+:\d+):", error or "")


def main() -> int:
    arguments = [a for a in sys.argv[1:] if a != "-v"]
    verbose = "-v" in sys.argv
    counts: Counter[tuple[str, str]] = Counter()
    for line in Path(arguments[0] if arguments else corpus()).read_text().splitlines():
        case = json.loads(line)
        want, got = case["expect"], answer(case)
        kind = outcome(want)
        counts[kind, "all"] += 1
        same = {
            "class": outcome(got) == kind,
            "text": got.get("error") == want.get("error"),
            "error type": got.get("errType") == want.get("errType"),
            "position": _positions(got.get("error")) == _positions(want.get("error")),
            "cost": got["maxCost"] == want["maxCost"],
            "type": got.get("outputType") == want.get("outputType"),
        }
        for name, agrees in same.items():
            counts[kind, name] += agrees
        if verbose and not all(same.values()):
            print(case["id"], case["env"], case["lt"], repr(case["expr"]))
            print("  want", want.get("error"), want.get("outputType"), want["maxCost"])
            print("  got ", got.get("error"), got.get("outputType"), got["maxCost"])
    for kind in ("syntax", "type", "cost", "compiles"):
        row = " ".join(
            f"{n} {counts[kind, n]}" for n in ("class", "text", "error type", "position", "cost", "type")
        )
        print(f"{kind:9} {counts[kind, 'all']:5}  {row}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
