"""Which input `validate` leaves out, and what it says when nothing is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline.main import main

CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: %s}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
UNKNOWN_CLASS = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: b
        selectors:
        - cel:
            expression: device.attributes["a.example.com"].x == 1
"""
EMPTY = "claimcheck: nothing was validated: the input has no objects of resource.k8s.io, pods or workloads\n"
NO_FILES = "empty: no .yaml, .yml, .json files in this directory\n"


@pytest.fixture(autouse=True)
def _in_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("class.yaml").write_text(CLASS % "a")
    Path("service.yaml").write_text(SERVICE)
    Path("claim.yaml").write_text(UNKNOWN_CLASS)


def test_exclude(capsys: pytest.CaptureFixture[str]) -> None:
    """Patterns can be repeated."""
    assert main(["validate", ".", "--exclude", "cl*", "--exclude=none"]) == 0
    out, err = capsys.readouterr()
    assert out == "0 objects: 0 valid, 0 invalid; 1 skipped: 1 Service\n"
    assert err == EMPTY


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["service.yaml"], 0, EMPTY),
        (["service.yaml", "--fail-on-empty"], 1, EMPTY),
        (["service.yaml", "--quiet"], 0, ""),
        (["service.yaml", "--quiet", "--fail-on-empty"], 1, EMPTY),
        (["class.yaml", "--fail-on-empty"], 0, ""),
        (["nowhere.yaml", "--fail-on-empty"], 2, ""),
        (["empty"], 0, NO_FILES + EMPTY),
        (["empty", "class.yaml", "--fail-on-empty"], 0, NO_FILES),
        (["empty", "--quiet"], 0, ""),
        (["empty", "--fail-on-empty"], 1, NO_FILES + EMPTY),
    ],
)
def test_nothing_to_validate(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A warning, or with --fail-on-empty a failure; input that cannot be read is another matter."""
    Path("empty").mkdir()
    assert main(["validate", *arguments]) == code
    assert capsys.readouterr().err == message


def test_chart(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says that templates are skipped, and how to render them, with the directory quoted for a shell."""
    chart = Path("my chart")
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: x\n")
    (chart / "values.yaml").write_text("a: b\n")
    (chart / "templates" / "a.yaml").write_text("{{ if .Values.a }}\n")
    assert main(["validate", "."]) == 0
    out, err = capsys.readouterr()
    assert "1 skipped: 1 Service" in out
    assert err == (
        "./my chart: the templates of a Helm chart are skipped; "
        "to check what it makes: helm template './my chart' | claimcheck validate -, or --helm\n"
    )
    assert main(["validate", "-q", "."]) == 0
    assert capsys.readouterr().err == ""


def test_patches_of_a_kustomization(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says that patches are skipped, and how to have what is made of them checked."""
    overlay = Path("my overlay")
    overlay.mkdir()
    (overlay / "kustomization.yaml").write_text("resources: [../class.yaml]\npatches: [{path: patch.yaml}]\n")
    (overlay / "patch.yaml").write_text("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n")
    assert main(["validate", "."]) == 0
    assert capsys.readouterr().err == (
        "./my overlay: the patches of a kustomization are skipped; "
        "to check what it makes: kubectl kustomize './my overlay' | claimcheck validate -\n"
    )
    assert main(["validate", "-q", "."]) == 0
    assert capsys.readouterr().err == ""
    assert main(["validate", "my overlay/patch.yaml"]) == 1


def test_disabled_lints(capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings and notes of these codes are neither shown nor counted."""
    arguments = ["validate", "claim.yaml", "--inventory", "class.yaml"]
    main([*arguments, "--notes"])
    shown = capsys.readouterr().out
    assert "warning[CC002]" in shown
    assert "note[CC011]" in shown
    main([*arguments, "--notes", "--disable", "CC002,CC011"])
    assert capsys.readouterr().out == "1 object: 1 valid, 0 invalid\n"
    main([*arguments, "--disable", "CC011", "--disable=CC002"])
    assert capsys.readouterr().out == "1 object: 1 valid, 0 invalid\n"


def test_disabled_lints_in_several_processes(capsys: pytest.CaptureFixture[str]) -> None:
    """The same as in one."""
    Path("other.yaml").write_text(UNKNOWN_CLASS)
    main(
        [
            "validate",
            "claim.yaml",
            "other.yaml",
            "--inventory",
            "class.yaml",
            "--jobs=2",
            "--disable=CC002,CC011",
        ]
    )
    assert capsys.readouterr().out == "2 objects: 2 valid, 0 invalid\n"


@pytest.mark.parametrize(
    ("given", "suggestion"),
    [
        ("CC01", "; did you mean CC001?"),
        ("cc002", "; did you mean CC002?"),
        ("CC002,CC9999", ""),
        ("unknown-device-class", "; did you mean CC002?"),
        ("", ""),
    ],
)
def test_unknown_lints(given: str, suggestion: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A code that no lint has disables nothing, so it is an error."""
    assert main(["validate", "claim.yaml", "--disable", given]) == 2
    code = given.rpartition(",")[2]
    assert capsys.readouterr().err == f"claimcheck: --disable {code}: no lint has this code{suggestion}\n"
