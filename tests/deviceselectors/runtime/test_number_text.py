"""Doubles are read as Go's strconv.ParseFloat reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deviceselectors.runtime.number_text import format_double, parse_double

_DOUBLES = json.loads((Path(__file__).parents[1] / "data" / "doubles.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "expected"), _DOUBLES)
def test_doubles(text: str, expected: str | None) -> None:
    """A text is the double that Go prints so, or none."""
    value = parse_double(text)
    number = None if value is None else float(format_double(value))
    assert repr(number) == repr(None if expected is None else float(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0" * 20_000 + "1", 1.0),
        ("0." + "0" * 9_998 + "1e9999", 1.0),
        ("1" + "0" * 9_000 + "e-9000", 1.0),
        ("0x" + "0" * 9_000 + "1p-" + "0" * 9_000 + "1", 0.5),
        # Go reads five digits of an exponent, and no more
        ("0." + "0" * 100_000 + "1e100001", 0.0),
    ],
    ids=["zeros-in-front", "small", "large", "hexadecimal", "six-digits-of-an-exponent"],
)
def test_long_doubles(text: str, expected: float) -> None:
    """The number of digits does not matter, except in exponents."""
    assert parse_double(text) == expected
