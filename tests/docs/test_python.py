"""The page about Python: what it shows is what happens."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "python.md"
PLACEMENT = ROOT / "manifests" / "examples" / "placement"


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
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "claimcheck.pytest_plugin",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    command += ["--rootdir", str(tmp_path), "-c", os.devnull, "--strict-markers", str(tmp_path)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout
