"""Notes of `claimcheck validate`: counted, shown with --notes, and never a reason to fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commandline.main import main

CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel:
            expression: |-
              device.driver == "gpu.example.com" &&
              device.attributes["gpu.example.com"].model == "a100"
"""
SUMMARY = "1 object: 1 valid, 0 invalid"


@pytest.fixture
def claim(tmp_path: Path) -> str:
    file = tmp_path / "claim.yaml"
    file.write_text(CLAIM)
    return str(file)


def _validate(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["validate", *arguments]) == 0
    return capsys.readouterr().out


def test_notes_are_counted(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --notes the summary says how many there are."""
    assert _validate(capsys, claim) == f"{SUMMARY}; 1 note with --notes\n"


def test_notes_are_shown(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With --notes each stands under the name in the user's text; they are no warnings."""
    assert _validate(capsys, claim, "--notes", "--warnings-as-errors") == (
        f"{claim}:14:52: note[CC011]: spec.devices.requests[0].exactly.selectors[0].cel.expression: "
        '"model" is looked up without a guard: on a device without it the selector fails, and the pod '
        "is not scheduled\n"
        '  14 |               device.attributes["gpu.example.com"].model == "a100"\n'
        f"     | {' ' * 51}^^^^^\n"
        "     = hint: unless every device has it, add a guard: "
        '`has(device.attributes["gpu.example.com"].model) && …`\n\n'
        f"{SUMMARY}; 1 note\n"
    )


def test_notes_are_ignored_by_comment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A comment above switches a note off as it does a warning."""
    file = tmp_path / "claim.yaml"
    file.write_text(
        CLAIM.replace("|-\n", ">- # claimcheck: ignore[CC011]\n").replace(
            '              device.driver == "gpu.example.com" &&\n', ""
        )
    )
    assert _validate(capsys, str(file), "--notes") == f"{SUMMARY}\n"


@pytest.mark.parametrize(
    ("format", "expected"),
    [
        pytest.param("sarif", '"level": "note"', id="sarif"),
        pytest.param("github", "::notice file=", id="github"),
        pytest.param("junit", "<system-out>", id="junit"),
    ],
)
def test_notes_in_other_formats(
    claim: str, capsys: pytest.CaptureFixture[str], format: str, expected: str
) -> None:
    """Each format has its own word for a note."""
    assert expected in _validate(capsys, claim, "--notes", "-o", format)


def test_notes_in_json(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON counts the notes that it shows."""
    report = json.loads(_validate(capsys, claim, "--notes", "-o", "json"))
    assert report["summary"]["notes"] == 1
    assert [finding["severity"] for finding in report["results"][0]["findings"]] == ["note"]
