"""The page about Python: what it shows is what happens."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_examples_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of docs/how-to/python.md gives what the page says, in the directory of the shipped placement example."""
    monkeypatch.chdir(ROOT / "manifests" / "examples" / "placement")
    failed, tried = doctest.testfile(
        str(ROOT / "docs" / "how-to" / "python.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert tried > 20
    assert not failed
