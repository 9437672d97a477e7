"""`validate --severity`: what lints are reported as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main

CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec:
  devices:
    requests:
    - name: gpu
      firstAvailable:
      - {name: one, deviceClassName: gpu}
      - {name: two, deviceClassName: gpu, count: 2}
    - {name: other, exactly: {deviceClassName: missing}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {}
spec: {}
"""


@pytest.fixture
def claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with a warning CC001, a note CC002, and a repeated key CC009."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claim.yaml").write_text(CLAIM, "utf-8")
    return "claim.yaml"


def _report(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, str], dict[str, Any]]:
    code = main(["validate", "-o", "json", *arguments])
    report = json.loads(capsys.readouterr().out)
    found = {each["rule"]: each["severity"] for result in report["results"] for each in result["findings"]}
    return code, found, report["summary"]


@pytest.mark.parametrize(
    ("severity", "code", "expected"),
    [
        ("", 0, {"CC001": "warning", "CC009": "warning"}),
        ("CC001=error", 1, {"CC001": "error", "CC009": "warning"}),
        ("CC009=error", 1, {"CC001": "warning", "CC009": "error"}),
        ("CC001=note, CC009=off", 0, {}),
        ("CC002=warning", 0, {"CC001": "warning", "CC002": "warning", "CC009": "warning"}),
        ("CC002=error,CC001=off", 1, {"CC002": "error", "CC009": "warning"}),
    ],
)
def test_levels(
    severity: str, code: int, expected: dict[str, str], claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lint has the severity that is asked for, whatever its own; errors make the exit code 1."""
    assert _report(capsys, "--severity", severity, claim)[:2] == (code, expected)


def test_lowered_lints_are_notes(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A lint that is made a note is shown with --notes, and counted without it."""
    notes = {"CC001": "note", "CC002": "note", "CC009": "warning"}
    assert _report(capsys, "--severity=CC001=note", "--notes", claim)[1] == notes
    main(["validate", "--severity=CC001=note", claim])
    assert "; 2 notes with --notes" in capsys.readouterr().out


def test_in_the_configuration(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A repository sets severities in a mapping, in which `off` may be without quotes."""
    Path(".claimcheck.yaml").write_text("severity:\n  CC001: error\n  CC009: off\n", "utf-8")
    assert _report(capsys, claim)[:2] == (1, {"CC001": "error"})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("CC0001=error", "--severity CC0001: no lint has this code; did you mean CC001?"),
        ("CC001", "--severity CC001: expected CC001= with one of error, warning, note, off"),
        ("CC001=fatal", "--severity CC001=fatal: expected CC001= with one of error, warning, note, off"),
    ],
)
def test_mistakes(given: str, message: str, claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown codes and levels are errors."""
    assert main(["validate", "--severity", given, claim]) == 2
    assert capsys.readouterr().err == f"claimcheck: {message}\n"
