"""Times of taints that are valid, in years that Python does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline.main import main

FILE = str(Path(__file__).parent / "data" / "extreme_times.yaml")


@pytest.mark.parametrize(("command", "what"), [("simulate", FILE), ("devices", "n1/g0")])
def test_pods_are_evicted(command: str, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands that tell of evictions ended in a traceback; they name three of the taints."""
    assert main([command, "--inventory", FILE, what]) == 0
    told = [f"{key}:NoExecute on d.example.com/n1/g0 (ResourceSlice s1)" for key in ("last", "zero", "first")]
    assert f"{', '.join(told)} and 1 other" in capsys.readouterr().out
