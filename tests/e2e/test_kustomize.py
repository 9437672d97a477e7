"""`validate --kustomize` with a real kustomize: what a kustomization leaves out is validated as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main
from tests.e2e.binaries import tool

CASES = yaml.safe_load((Path(__file__).parent / "kustomizations.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_is_left_out(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only those bad objects are passed over that kustomize makes good ones of."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/kubectl").symlink_to(tool("kubectl"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name, text in case["files"].items():
        file = tmp_path / "app" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    monkeypatch.chdir(tmp_path)
    code = main(["validate", "--kustomize", "--fail-on-skipped", "app"])
    lines = capsys.readouterr().out.splitlines()
    places = [line.partition(":")[0] for line in lines if line.startswith("app")]
    reported = [place.removeprefix("app").removeprefix("/") for place in places]
    assert reported == case["reported"], lines
    assert code == (1 if reported else 0)
