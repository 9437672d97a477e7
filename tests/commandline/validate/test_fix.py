"""`validate --fix`: what can be fixed in one way only is fixed in the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline.main import main
from tests.commandline.commented_claim import V1, V1BETA1

_OTHER = """    - name: other
      exactly: {%s: %s}
"""
WRONG = V1BETA1.replace("v1beta1", "v1") + _OTHER % ("deviceClasName", "gpu.example.com")
RIGHT = V1 + _OTHER % ("deviceClassName", '"gpu.example.com"')
OF_USERS = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: Claim}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu, count: -1}}]}}
"""
POLICY = """apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: policy}
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: ["resource.k8s.io"]
      apiVersions: ["v1alpha3", "v1beta1"] # those of 1.32
      operations: ["CREATE", "UPDATE"]
      resources: ["resourceclaims"]
  validations:
  - expression: '! object.spec.devices.requests.exists(e, has(e.adminAccess) && e.adminAccess)'
"""


def _fix(file: Path, text: str, *options: str) -> int:
    file.write_text(text, "utf-8")
    return main(["validate", "--fix", *options, str(file)])


def test_mistakes_with_one_way_to_fix_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are gone from the file, with comments and layout kept, and are not reported."""
    file = tmp_path / "claim.yaml"
    assert _fix(file, WRONG) == 0
    assert file.read_text("utf-8") == RIGHT
    out, err = capsys.readouterr()
    assert out == "1 object: 1 valid, 0 invalid\n"
    assert err.startswith("claimcheck: fixed ")
    assert err.endswith(" in 1 file\n")


def test_documents_and_items(tmp_path: Path) -> None:
    """Each object of a file is fixed where it is."""
    file = tmp_path / "claims.yaml"
    indented = WRONG.replace("\n", "\n  ").rstrip()
    assert (
        _fix(
            file,
            f"{WRONG}---\n{RIGHT}---\nkind: List\napiVersion: v1\nitems:\n- {indented[indented.index('api') :]}\n",
        )
        == 0
    )
    assert file.read_text("utf-8").startswith(f"{RIGHT}---\n{RIGHT}---\nkind: List\n")
    assert main(["validate", str(file)]) == 0


def test_what_people_have_to_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It stays as it is, and is reported."""
    file = tmp_path / "claim.yaml"
    assert _fix(file, OF_USERS) == 1
    assert "-1" in file.read_text("utf-8")
    assert "1 object: 0 valid, 1 invalid" in capsys.readouterr().out


def test_lints(tmp_path: Path) -> None:
    """A policy for former versions gets the form for v1."""
    file = tmp_path / "policy.yaml"
    assert _fix(file, POLICY, "--warnings-as-errors") == 0
    assert file.read_text("utf-8") == POLICY.replace('["v1alpha3", "v1beta1"]', '["v1"]').replace(
        "'! object.spec.devices.requests.exists(e, has(e.adminAccess) && e.adminAccess)'",
        '"! object.spec.devices.requests.exists(e, has(e.exactly) && has(e.exactly.adminAccess) && e.exactly.adminAccess)"',
    )


def test_silenced_lints_are_not_fixed(tmp_path: Path) -> None:
    """Who silences a lint wants the object as it is."""
    silenced = "# claimcheck: ignore[CC025]"
    text = POLICY.replace("# those of 1.32", silenced).replace(
        "  - expression", f"  {silenced}\n  - expression"
    )
    file = tmp_path / "policy.yaml"
    assert _fix(file, text) == 0
    assert file.read_text("utf-8") == text


def test_a_comment_without_a_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in which a comment would be lost stays as it is, with the reason."""
    file = tmp_path / "policy.yaml"
    text = POLICY.replace(
        '["v1alpha3", "v1beta1"] # those of 1.32', '[\n        "v1alpha3", # the first\n        "v1beta1"]'
    )
    assert _fix(file, text, "--warnings-as-errors") == 1
    assert file.read_text("utf-8") == text
    assert f"claimcheck: not fixed: {file}:9:21: this comment would be lost" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-"], "--fix needs files: standard input cannot be rewritten"),
        (["--old", "a.yaml", "b.yaml"], "--fix rewrites files: name them, without --old and --patch-file"),
    ],
    ids=" ".join,
)
def test_nothing_to_rewrite(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Only files can be fixed."""
    assert main(["validate", "--fix", *arguments]) == 2
    assert capsys.readouterr().err == f"claimcheck: {message}\n"
