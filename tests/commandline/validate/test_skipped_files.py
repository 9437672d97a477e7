"""Files that look like manifests and are not read: a note in every report, and with --fail-on-skipped a failure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commandline.main import main
from commandline.reports import FORMATS

MANIFEST = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n"


@pytest.fixture(autouse=True)
def _directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ok.yaml").write_text(MANIFEST)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_every_report_names_them(format: str, jobs: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the format, and with any number of processes; the exit code is as without them."""
    Path(".evil.yaml").write_text(MANIFEST)
    Path("other.yaml").write_text(MANIFEST.replace("name: a", "name: b"))
    assert main(["validate", "-o", format, "-j", jobs, "."]) == 0
    written = capsys.readouterr().out
    assert ".evil.yaml" in written
    assert "not validated, as it is hidden" in written


@pytest.mark.parametrize(
    ("options", "code"), [([], 0), (["--fail-on-skipped"], 1), (["-q", "--fail-on-skipped"], 1)]
)
def test_fail_on_skipped(options: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Only with the option they decide the exit code."""
    assert main(["validate", "--fail-on-skipped", "."]) == 0
    Path(".k8s").mkdir()
    Path(".k8s/evil.json").write_text('{"kind": "A"}')
    assert main(["validate", *options, "."]) == code
    line = "claimcheck: the exit code is 1 because of --fail-on-skipped: 1 file not read\n"
    assert capsys.readouterr().err == line * code
    assert main(["validate", *options, "--exclude", ".k8s", "."]) == 0
    Path("invalid.yaml").write_text(MANIFEST.replace("name: a", "name: B_"))
    assert main(["validate", *options, "."]) == 1
    assert capsys.readouterr().err == ""


def test_what_a_config_file_leaves_out_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A change that a stranger proposes may bring one; it cannot silently hide a manifest, nor ask for quiet."""
    Path("evil.yaml").write_text(MANIFEST.replace("name: a", "name: B_"))
    Path(".claimcheck.yaml").write_text("quiet: true\nexclude: [evil.yaml]\n")
    told = "claimcheck: .claimcheck.yaml:2: exclude leaves out a file or directory, such as ./evil.yaml\n"
    assert main(["validate", "--fail-on-skipped", "."]) == 0
    assert capsys.readouterr().err == told
    assert main(["validate", "--fail-on-skipped", "-o", "github", "-o", "sarif=report", "."]) == 0
    line = told.removeprefix("claimcheck: ").removesuffix("\n")
    assert f"::warning::{line}\n" in capsys.readouterr().out
    invocation = json.loads(Path("report").read_text())["runs"][0]["invocations"][0]
    assert {"level": "warning", "message": {"text": line}} in invocation["toolExecutionNotifications"]
    for trusted in (["--config", ".claimcheck.yaml"], ["--exclude", "evil.yaml"]):
        assert main(["validate", "--fail-on-skipped", *trusted, "."]) == 0
        assert capsys.readouterr().err == ""
    assert main(["validate", "--fail-on-skipped", "--no-config", "."]) == 1


def test_what_a_config_file_decides_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """With it, a stranger's change may declare a server that takes what the real one refuses."""
    Path("evil.yaml").write_text(MANIFEST.replace("/v1", "/v1beta1"))
    assert main(["validate", "--fail-on-skipped", "."]) == 1
    Path(".claimcheck.yaml").write_text(
        "quiet: true\nkube-version: '1.34'\nruntime-config: resource.k8s.io/v1beta1=true\n"
    )
    capsys.readouterr()
    line = "objects are judged as .claimcheck.yaml says: kube-version, runtime-config"
    assert main(["validate", "--fail-on-skipped", "-o", "github", "-o", "sarif=report", "."]) == 0
    written = capsys.readouterr()
    assert written.err == f"claimcheck: {line}\n"
    assert f"::notice::{line}\n" in written.out
    invocation = json.loads(Path("report").read_text())["runs"][0]["invocations"][0]
    assert {"level": "note", "message": {"text": line}} in invocation["toolExecutionNotifications"]
    for options in (
        ["--config", ".claimcheck.yaml"],
        ["--kube-version=1.34", "--runtime-config=resource.k8s.io/v1beta1=true"],
    ):
        assert main(["validate", "--fail-on-skipped", *options, "."]) == 0
        assert capsys.readouterr().err == ""
    assert main(["validate", "--fail-on-skipped", "--no-config", "."]) == 1


def test_many_are_one_note(capsys: pytest.CaptureFixture[str]) -> None:
    """Those with the same reason are counted; --show-all lists them."""
    for number in range(20):
        Path(f".evil{number}.yaml").write_text(MANIFEST)
    main(["validate", "."])
    assert capsys.readouterr().out.count("SkippedFile") + 1 < 5
    main(["validate", "--show-all", "."])
    assert capsys.readouterr().out.count("not validated, as it is hidden") == 20


@pytest.mark.parametrize(
    ("kind", "other", "is_told"),
    [
        ("ResourceClaim", "", True),
        ("Deployment", "", False),
        ("Deployment", "spec: {resourceClaims: []}", True),
        ("ConfigMap", "spec: {resourceClaims: []}", False),
        (".*", "", True),
    ],
)
def test_what_kustomize_makes(
    kind: str, other: str, is_told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Told if it can be an object that is validated; workloads are if any file has claims."""
    Path("my k").mkdir()
    Path("my k/part.yaml").write_text(f"apiVersion: v1\nkind: Service\nmetadata: {{name: x}}\n{other}\n")
    patch = "[{op: replace, path: /spec, value: 3}]"
    Path("my k/kustomization.yaml").write_text(f"patches: [{{patch: '{patch}', target: {{kind: {kind}}}}}]\n")
    assert main(["validate", "--fail-on-skipped", "."]) == int(is_told)
    out = capsys.readouterr().out
    assert ("kubectl kustomize './my k' | claimcheck validate -" in out) == is_told
    assert ("it has patches within it" in out) == is_told


@pytest.mark.parametrize("path", ["../patch.txt", "link.txt"])
def test_patches_that_are_elsewhere(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What they add is not known, as they are not read: it may be the claims of a workload that has none here."""
    Path("k").mkdir()
    Path("k/part.yaml").write_text("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n")
    Path("k/link.txt").symlink_to("../patch.txt")
    Path("k/kustomization.yaml").write_text(f"patches: [{{path: {path}, target: {{kind: Deployment}}}}]\n")
    Path("patch.txt").write_text("[{op: add, path: /spec/template/spec/resourceClaims, value: [{name: B_}]}]")
    main(["validate", "--fail-on-skipped", "k"])
    assert "it has patches in other files" in capsys.readouterr().out


def test_the_action_and_the_hook_insist() -> None:
    """Neither lets a skipped manifest pass."""
    root = Path(__file__).parents[3]
    assert "validate --fail-on-skipped " in (root / ".github/claimcheck-action.sh").read_text()
    assert "validate --fail-on-skipped --as-found\n" in (root / ".pre-commit-hooks.yaml").read_text()


def test_actions_are_pinned() -> None:
    """By commit, as a tag can be moved; the tag stands behind it."""
    import re

    root = Path(__file__).parents[3]
    files = [root / "action.yml", *(root / "docs").rglob("*.md"), root / "README.md"]
    uses = [
        (file.name, used)
        for file in files
        for used in re.findall(r"^\s*(?:- )?uses: (\S+@.*)$", file.read_text(), re.MULTILINE)
        if not used.startswith("OWNER/")
    ]
    assert uses
    assert [used for used in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v[0-9.]+", used[1])] == []
