"""Corners of CEL get upstream's answer: limits of numbers, zones, keys of maps, messages, functions without values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import cel

_DATA = json.loads((Path(__file__).parent / "data" / "corners.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "case", _DATA["cases"], ids=lambda case: case["expr"].encode("unicode_escape").decode()[:80]
)
def test_corner(case: dict[str, Any]) -> None:
    """Verdict, estimate, result, cost and error are those recorded from upstream's compiler and evaluator."""
    question = {
        "expr": case["expr"], "env": "stored", "lt": True, "cc": True, "derived": False, "device": _DATA["device"],
        "expect": case["expect"],
    }  # fmt: skip
    comparison = cel.compare(question, cel.answer(question))
    assert comparison.answer, comparison.differences
