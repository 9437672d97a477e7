"""Quantities that no number of a processor can hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from allocator.fitting.waste import as_number
from commandline.main import main
from resourceapi.quantity import parse

FILE = str(Path(__file__).parent / "data" / "extreme_quantities.yaml")


@pytest.mark.parametrize("command", ["simulate", "explain", "quota", "validate", "migrate"])
def test_commands_answer(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Counters and capacities of 10e999999999 are compared like others: `simulate` ended in a traceback."""
    assert main([command, FILE]) in (0, 1)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0e999999999", 0),
        ("1n", 1),
        ("1.5", 1_500_000_000),
        ("80Gi", 80 * 2**30 * 10**9),
        ("10e999999999", 10**60),
        ("-10e999999999", -(10**60)),
        ("9" * 4000, 10**60),
    ],
)
def test_numbers_to_compare(text: str, number: int) -> None:
    """Exact down to 10**-9, and bounded."""
    assert as_number(parse(text)) == number
