"""Expressions on which the comparison with upstream once found a difference, and their kin, with upstream's answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import cel

CASES = json.loads((Path(__file__).parent / "data" / "fuzzed.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    """Verdict, estimated cost, result, actual cost and text of the error are upstream's."""
    assert cel.answer(case) == case["expect"]
