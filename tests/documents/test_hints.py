"""What the hints say about texts that are no YAML, or no object."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.errors import DocumentError
from documents.parsing import parse
from tests.case_files import read_yaml

CASES = read_yaml(Path(__file__).parent / "data" / "hints.yaml")


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_case(case: dict[str, str]) -> None:
    """The first error has this hint."""
    error = next(iter(parse(case["text"])))
    assert isinstance(error, DocumentError)
    assert error.hint == case["hint"]


@pytest.mark.parametrize("text", ["{a: b, " * 20_000 + "]", "{" + "a- " * 100_000 + "]", "{a: \n" * 5_000])
def test_long_lines(text: str) -> None:
    """Only so much of a line is looked at."""
    error = next(iter(parse(text)))
    assert isinstance(error, DocumentError)
