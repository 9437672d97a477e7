"""Where reports of `claimcheck validate` go, and what --quiet leaves of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline.main import main

VALID = """apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {}
"""
SUMMARY = "1 object: 0 valid, 1 invalid; 1 error\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(VALID, encoding="utf-8")
    Path("bad.yaml").write_text(VALID.replace("gpu.example.com", "GPU"), encoding="utf-8")


def _report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    main(["validate", *arguments])
    written = capsys.readouterr()
    return written.out, written.err


def test_quiet_says_nothing_about_valid_objects(capsys: pytest.CaptureFixture[str]) -> None:
    """No news is good news."""
    assert _report(capsys, "-q", "good.yaml") == ("", "")
    assert _report(capsys, "--quiet", "-o", "github", "good.yaml") == ("", "")


def test_quiet_shows_findings(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the summary is left out."""
    loud, _ = _report(capsys, "bad.yaml")
    assert loud.endswith(SUMMARY)
    assert _report(capsys, "-q", "bad.yaml") == (loud.removesuffix(SUMMARY), "")


def test_quiet_with_files(capsys: pytest.CaptureFixture[str]) -> None:
    """The summary on standard error, when all reports go to files, is left out, too."""
    assert _report(capsys, "-o", "json=report.json", "bad.yaml") == ("", SUMMARY)
    assert _report(capsys, "-q", "-o", "json=report.json", "bad.yaml") == ("", "")


def test_quiet_leaves_formats_for_programs_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """A program gets the whole report."""
    assert _report(capsys, "-q", "-o", "json", "good.yaml") == _report(capsys, "-o", "json", "good.yaml")


def test_quiet_still_says_what_could_not_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file is no news that can be left out."""
    assert main(["validate", "-q", "missing.yaml"]) == 2
    assert capsys.readouterr().out == "missing.yaml: error: no such file or directory\n"


@pytest.mark.parametrize("order", [("text", "github"), ("github", "text")])
def test_text_and_annotations_together(order: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Both go to standard output, in the order asked for, with one summary at the end."""
    text, _ = _report(capsys, "bad.yaml")
    commands, _ = _report(capsys, "-o", "github", "bad.yaml")
    parts = {"text": text.removesuffix(SUMMARY), "github": commands.removesuffix(SUMMARY)}
    both, _ = _report(capsys, "-o", order[0], "-o", order[1], "bad.yaml")
    assert both == parts[order[0]] + parts[order[1]] + SUMMARY


@pytest.mark.parametrize(
    ("outputs", "place"),
    [
        (("json", "text"), "standard output, except one of text and one of github"),
        (("github", "text", "github"), "standard output, except one of text and one of github"),
        (("text", "text"), "standard output, except one of text and one of github"),
        (("text=a", "github=a"), "a"),
    ],
)
def test_other_reports_need_places_of_their_own(
    outputs: tuple[str, ...], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two reports in one place would be of use to nobody."""
    arguments = [part for output in outputs for part in ("-o", output)]
    assert main(["validate", *arguments, "good.yaml"]) == 2
    expected = f"claimcheck: --output {outputs[-1]}: two reports cannot go to {place}\n"
    assert capsys.readouterr().err == expected
