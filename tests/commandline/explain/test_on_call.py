"""Somebody on call asks why a pod waits and what to do: the first line has the cause, and the first fifteen a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main

CASES: list[Any] = list(yaml.safe_load_all(Path(__file__).with_name("on_call.yaml").read_text("utf-8")))
#: What somebody reads.
LINES = 15


@pytest.mark.parametrize("case", CASES, ids=[each["case"] for each in CASES])
def test_cause_and_remedy(case: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both are found without reading the details."""
    for name in ("asked", "cluster"):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump_all(case[name]), encoding="utf-8")
    asked, cluster = str(tmp_path / "asked.yaml"), str(tmp_path / "cluster.yaml")
    assert main(["explain", "-f", asked, "--inventory", cluster, *case.get("options", ())]) == case.get(
        "code", 1
    )
    first, *others = capsys.readouterr().out.splitlines()[:LINES]
    assert [words for words in case["firstLine"] if words not in first] == [], first
    said = "\n".join(others)
    assert [words for words in case["remedy"] if words not in said] == [], said
