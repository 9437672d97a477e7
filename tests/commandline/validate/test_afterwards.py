"""What the server will report once the errors are fixed, in every report: apart from its answer, and counted apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commandline.main import main

# two wrong types and a wrong name: the server names the count
CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec:
  devices:
    requests:
    - name: GPU
      exactly: {deviceClassName: 5, count: x}
"""
FIRST, LATER = "spec.devices.requests[0].exactly.count", "spec.devices.requests[0].name"


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A file with the claim."""
    path = tmp_path / "claim.yaml"
    path.write_text(CLAIM, encoding="utf-8")
    return str(path)


def _output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["validate", "--no-lint", *arguments]) == 1
    return capsys.readouterr().out


def test_text(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line parts the server's answer from the rest, and the summary counts the rest apart."""
    now, _, later = _output(capsys, file).partition("\nalso, once that is fixed:\n")
    assert FIRST in now
    assert LATER not in now
    assert LATER in later
    assert later.endswith("1 object: 0 valid, 1 invalid; 1 error; 2 more once that is fixed\n")


def test_json(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They have a key of their own; what is there without them stays."""
    report = json.loads(_output(capsys, "-o", "json", file))
    (result,) = report["results"]
    assert [finding["field"] for finding in result["findings"]] == [FIRST]
    assert [finding["field"] for finding in result["afterwards"]] == [
        "spec.devices.requests[0].exactly.deviceClassName",
        LATER,
    ]
    assert result["afterwards"][1]["line"] == 7
    assert report["summary"]["errors"] == 1


def test_sarif(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They are notes, so that no check fails that does not fail without them."""
    (run,) = json.loads(_output(capsys, "-o", "sarif", file))["runs"]
    assert [result["level"] for result in run["results"]] == ["error", "note", "note"]
    assert [result.get("properties") for result in run["results"]] == [None, *[{"afterwards": True}] * 2]


def test_github(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They are notices."""
    lines = _output(capsys, "-o", "github", file).splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["::error", "::notice", "::notice"]


def test_junit(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They are output of the failed test."""
    report = _output(capsys, "-o", "junit", file)
    failure, _, rest = report.partition("</failure>")
    assert LATER not in failure
    assert LATER in rest[rest.index("<system-out>") : rest.index("</system-out>")]


def test_several_processes(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is lost on the way from another process."""
    (tmp_path / "other.yaml").write_text(CLAIM.replace("name: claim", "name: other"), encoding="utf-8")
    one = _output(capsys, "-j", "1", str(tmp_path))
    assert LATER in one
    assert _output(capsys, "-j", "2", str(tmp_path)) == one


def test_other_documents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A document that is no YAML does not hide what is wrong with the others of its file."""
    path = tmp_path / "claims.yaml"
    path.write_text(f"{CLAIM}---\nkind: [\n---\n{CLAIM}", encoding="utf-8")
    output = _output(capsys, str(path))
    assert output.count("exactly.count: json") == 2
    assert output.count("also, once that is fixed:") == 2
