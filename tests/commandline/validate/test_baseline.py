"""`validate --baseline`: only findings that an earlier report does not have are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline.main import main

BAD = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: %s}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu, count: -1}
"""


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A file with an error, beside a baseline that has it."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "old.yaml"
    file.write_text(BAD % "old", "utf-8")
    assert main(["validate", "-o", "json=baseline.json", "."]) == 1
    capsys.readouterr()
    return file


def _validate(*options: str) -> int:
    return main(["validate", "--baseline", "baseline.json", *options, "./"])


@pytest.mark.parametrize("options", [(), ("--jobs=2",)], ids=["alone", "jobs"])
def test_known_findings(old: Path, options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """What is known is left out, also where lines were added above it, and how much is said; what is new counts."""
    old.write_text(f"# why\n\n{BAD % 'old'}", "utf-8")
    assert _validate(*options) == 0
    out, err = capsys.readouterr()
    assert out.startswith("1 object: 1 valid, 0 invalid; 1 skipped")
    assert err == "claimcheck: 1 finding of baseline.json left out\n"
    (old.parent / "new.yaml").write_text(BAD % "new", "utf-8")
    assert _validate(*options) == 1
    out, _ = capsys.readouterr()
    assert "new.yaml:8:" in out
    assert "old.yaml" not in out


def test_a_stranger_cannot_have_findings_left_out_silently(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A change may bring a new baseline and ask for quiet: with --fail-on-skipped it is told, in annotations too."""
    (old.parent / ".claimcheck.yaml").write_text("quiet: true\n")
    assert _validate() == 0
    assert capsys.readouterr().err == ""
    assert _validate("--fail-on-skipped", "-o", "github") == 0
    out, err = capsys.readouterr()
    assert err == "claimcheck: 1 finding of baseline.json left out\n"
    assert "::notice::1 finding of baseline.json left out\n" in out


def test_a_finding_counts_as_often_as_it_is_there(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same mistake a second time is new."""
    old.write_text(f"{BAD % 'old'}---\n{BAD % 'old'}", "utf-8")
    assert _validate() == 1
    assert "2 objects: 1 valid, 1 invalid; 1 error" in capsys.readouterr().out


def test_findings_that_are_gone(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who has fixed something is told that the baseline is out of date."""
    old.write_text((BAD % "old").replace("-1", "1"), "utf-8")
    assert _validate() == 0
    assert (
        capsys.readouterr().err
        == "claimcheck: 0 findings of baseline.json left out; 1 other of it is gone: write it anew\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--baseline baseline.json: no such file or directory"),
        ("{", "--baseline baseline.json:1:2: "),
        ("[]", "--baseline baseline.json: no report of validate"),
        ('{"results": {}}', "--baseline baseline.json: no report of validate"),
    ],
    ids=["missing", "no-json", "list", "no-results"],
)
def test_no_report(content: str | None, message: str, old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no report is an error."""
    file = old.parent / "baseline.json"
    file.unlink() if content is None else file.write_text(content, "utf-8")
    assert _validate() == 2
    assert message in capsys.readouterr().err


def test_values_of_the_wrong_type(old: Path) -> None:
    """A report that somebody has edited is no reason to crash."""
    (old.parent / "baseline.json").write_text(
        '{"results": [1, {"file": 2, "findings": [3, {"rule": {}}]}]}', "utf-8"
    )
    assert _validate() == 1
