"""The page about Python: what it shows is what happens."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest

from tests.claimcheck.objects import PLACEMENT
from tests.claimcheck.plugin_runs import pytest_with_plugin

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "python.md"


def test_examples_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example of docs/how-to/python.md gives what the page says, in the directory of the shipped placement example."""
    monkeypatch.chdir(PLACEMENT)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert tried > 20
    assert not failed


def test_the_example_of_the_plugin(tmp_path: Path) -> None:
    """The tests on the page pass, beside the files that they name."""
    (example,) = re.findall(
        r"^```python\n((?!>>>).*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    (tmp_path / "test_example.py").write_text(example)
    shutil.copy(PLACEMENT / "cluster.yaml", tmp_path)
    printed = pytest_with_plugin(tmp_path)
    assert "2 passed" in printed, printed
