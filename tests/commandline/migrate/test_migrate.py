"""`claimcheck migrate`: files, directories, standard input, what is written where, and exit codes."""

from __future__ import annotations

import io
import itertools
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from documents.source import read_file
from resourceapi import manifests

CLAIM = """apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaim
metadata:
  name: nic # its name
spec:
  resourceClassName: nic
  parametersRef:
    apiGroup: nic.example.org
    kind: NicSetup
    name: fast
"""
CLASS = """apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClass
metadata:
  name: nic
driverName: nic.example.org
"""
SETUP = """# how
apiVersion: nic.example.org/v1
kind: NicSetup
metadata:
  name: fast
spec:
  ports: 2
  mtu: 9000
"""
OTHER = "apiVersion: v1\nkind:   ConfigMap\nmetadata: {name: other}\n"
MAPPING = """parameters:
- group: nic.example.org
  kind: NicSetup
  count: spec.ports
  config:
    apiVersion: nic.example.org/v2
    kind: NicConfig
    fields: {mtu: spec.mtu}
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a claim, its class and its parameters in three files, and a file with nothing to migrate."""
    for name, text in {"claim": CLAIM, "class": CLASS, "setup": SETUP, "other": OTHER}.items():
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _texts(directory: Path) -> dict[str, str]:
    return {file.name: file.read_text("utf-8") for file in directory.glob("*.yaml")}


def test_in_place(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Objects refer to each other across files; a file of which nothing is left is removed, its comments go along."""
    assert main(["migrate", "--in-place", "."]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    texts = _texts(directory)
    assert texts["other.yaml"] == OTHER
    assert "setup.yaml" not in texts
    assert texts["claim.yaml"].startswith("# how\napiVersion: resource.k8s.io/v1\n")
    assert "kind: DeviceClass" in texts["class.yaml"]
    assert "name: nic # its name" in texts["claim.yaml"]
    assert "driver: nic.example.org" in texts["claim.yaml"]
    assert err.splitlines()[-1] == "2 objects migrated, 1 left out, 1 warning, 1 note"
    assert main(["migrate", "--check", "."]) == 0
    assert main(["validate", "."]) == 0


def test_check_and_diff_write_nothing(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They exit with 1 if a file would change."""
    before = _texts(directory)
    assert main(["migrate", "--check", "."]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [f"would change: ./{name}.yaml" for name in ("claim", "class", "setup")]
    assert err.splitlines()[-1] == "3 files would change, 1 file would not"
    assert main(["migrate", "--diff", "class.yaml"]) == 1
    assert "-driverName: nic.example.org\n+spec:\n" in capsys.readouterr().out
    assert main(["migrate", "--check", "other.yaml"]) == 0
    assert _texts(directory) == before


def test_mapping(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a mapping says goes before opaque configuration."""
    (directory / "mapping").write_text(MAPPING, encoding="utf-8")
    assert main(["migrate", "--mapping", "mapping", "claim.yaml", "class.yaml", "setup.yaml"]) == 0
    out, _ = capsys.readouterr()
    assert "count: 2" in out
    assert "kind: NicConfig\n" in out
    assert "mtu: 9000\n" in out


def test_mapping_goes_before_what_is_built_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kind by kind."""
    (tmp_path / "mapping").write_text(
        "parameters: [{group: gpu.example.com, kind: GPURequirements, driver: gpu.example.com, config: whole}]"
    )
    (tmp_path / "claim.yaml").write_text(
        CLAIM.replace("nic.example.org", "gpu.example.com").replace("NicSetup", "GPURequirements")
        + "---\napiVersion: gpu.example.com/v1\nkind: GPURequirements\nmetadata: {name: fast}\nmemory: 2Gi\n"
    )
    assert main(["migrate", "--mapping", str(tmp_path / "mapping"), str(tmp_path / "claim.yaml")]) == 0
    assert "memory: 2Gi" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("parameters: [{kind: A, cuont: a}]", ":1: parameters.0.cuont: unknown key; known are group, kind,"),
        ("parameters: {}", ":1: parameters: expected a list"),
        ("parameters: [7]", ":1: parameters.0: expected a mapping"),
        ("parameters: [{group: a}]", ":1: parameters.0: kind is missing: the kind of the parameters"),
        ("parameters: [{kind: 7}]", ":1: parameters.0.kind: expected a text"),
        (
            "parameters: [{kind: A, selectors: [{field: a}]}]",
            ":1: parameters.0.selectors.0: expression is missing, or the reason why there is none",
        ),
        (
            "parameters: [{kind: A, selectors: [{field: a, expression: 'a ==='}]}]",
            ":1: parameters.0.selectors.0.expression: no CEL: column",
        ),
        ("parameters: [{kind: A, config: all}]", ":1: parameters.0.config: expected a mapping"),
        ("drivers: {a: {name: [b]}}", ":1: drivers.a.name: expected a text"),
        (
            "parameters: [{kind: A, selectors: [{field: a, expression: device.driver == valeu}]}]",
            ":1: parameters.0.selectors.0.expression: no selector of devices: ERROR: <input>:1: undeclared reference to 'valeu'",
        ),
        (
            "parameters: [{kind: A, selectors: [{field: a, comparison: true, expression: quantity(value)}]}]",
            ":1: parameters.0.selectors.0.expression: no selector of devices: ERROR: ",
        ),
        ("drivers: [a]", ":1: drivers: expected a mapping"),
        ("- a", ":1: not a Kubernetes object"),
        ("", ": expected one document, found 0"),
        ("a: [", ":1"),
    ],
    ids=itertools.count(),
)
def test_mistakes_in_mappings(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are named with their line, before anything is read or written."""
    (tmp_path / "mapping").write_text(text, encoding="utf-8")
    assert main(["migrate", "--mapping", str(tmp_path / "mapping"), str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first = re.sub(r"(:\d+):\d+: ", r"\1: ", err.splitlines()[0])
    assert first.startswith(f"claimcheck: --mapping {tmp_path / 'mapping'}{message}")


def test_json(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files and remarks for programs; what cannot be migrated is an error."""
    assert main(["migrate", "-o", "json", "claim.yaml", "class.yaml"]) == 1
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert err == ""
    assert report["summary"] == {"migrated": 1, "leftOut": 0, "errors": 1, "warnings": 0, "notes": 0}
    assert [(file["file"], file["changed"]) for file in report["files"]] == [
        ("claim.yaml", False),
        ("class.yaml", True),
    ]
    assert report["files"][0]["content"] == CLAIM
    [remark] = report["remarks"]
    assert (remark["file"], remark["line"], remark["column"]) == ("claim.yaml", 8, 5)
    assert (remark["severity"], remark["kind"], remark["name"]) == ("error", "ResourceClaim", "nic")
    assert remark["field"] == "spec.parametersRef"
    assert remark["hint"] == "name its file as well"


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_json_without_content(option: str, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As with text, the exit code says whether a file would change."""
    assert main(["migrate", "-o", "json", option, "."]) == 1
    report: Any = json.loads(capsys.readouterr().out)
    assert all("content" not in file for file in report["files"])
    assert main(["migrate", "-o", "json", option, "other.yaml"]) == 0


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`-` reads it; it cannot be rewritten."""
    stream = io.TextIOWrapper(io.BytesIO(CLASS.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert main(["migrate", "-"]) == 0
    assert "kind: DeviceClass" in capsys.readouterr().out
    assert main(["migrate", "--in-place", "-"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a", "--in-place", "--check"], 2, "--in-place writes files, --check and --diff do not"),
        ([], 2, "no input"),
        (["nowhere.yaml"], 2, "nowhere.yaml: no such file or directory"),
        (["--mapping", "nowhere", "a"], 2, "--mapping nowhere: no such file or directory"),
    ],
)
def test_misuse(
    arguments: list[str], code: int, message: str, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said, and nothing is written."""
    assert main(["migrate", *arguments]) == code
    assert message in capsys.readouterr().err


def test_quiet(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Notes and numbers are left out, what is lost is not."""
    text = CLAIM.partition("  parametersRef")[0] + "  allocationMode: Immediate\n"
    (directory / "claim.yaml").write_text(text, encoding="utf-8")
    assert main(["migrate", "--quiet", "claim.yaml", "class.yaml"]) == 0
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("claim.yaml:7: warning: ResourceClaim nic: spec.allocationMode: ")


def test_what_is_no_manifest_stays(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A broken document keeps the others from nothing."""
    (directory / "class.yaml").write_text(f"{CLASS}---\n- [\n---\n{OTHER}", encoding="utf-8")
    assert main(["migrate", "--in-place", "class.yaml"]) == 1
    text = (directory / "class.yaml").read_text("utf-8")
    assert text.startswith("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\n")
    assert text.endswith(f"---\n- [\n---\n{OTHER}")


def test_names_cannot_write_lines(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither into the report nor into a workflow of GitHub Actions."""
    (directory / "class.yaml").write_text(
        CLASS.replace("name: nic", 'name: "a\\n::error::b\\e[31m"').replace("driverName", "# driverName"),
        encoding="utf-8",
    )
    assert main(["migrate", "class.yaml"]) == 1
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert not any(line.startswith("::") for line in err.splitlines())


def test_many_objects_that_refer_to_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is migrated, and what is said about the parameters is said once."""
    claims = "---\n".join(CLAIM.replace("name: nic #", f"name: nic-{number} #") for number in range(500))
    (tmp_path / "all.yaml").write_text(f"{claims}---\n{CLASS}---\n{SETUP}", encoding="utf-8")
    assert main(["migrate", "--check", str(tmp_path)]) == 1
    err = capsys.readouterr().err
    assert "501 objects migrated, 1 left out" in err
    assert err.count("left out: what it says") == 1


OVERLAY = """resources: [../base]
patches:
{}
"""


@pytest.fixture
def overlay(directory: Path) -> Path:
    """A kustomization of these files with another one over it, and its patch file."""
    base, over = directory / "base", directory / "over"
    base.mkdir()
    over.mkdir()
    for file in directory.glob("*.yaml"):
        file.rename(base / file.name)
    names = "".join(f"- {name}.yaml # {name}\n" for name in ("claim", "class", "setup", "other"))
    (base / "kustomization.yaml").write_text(f"resources:\n{names}", "utf-8")
    (base / "context.yaml").write_text(
        "apiVersion: resource.k8s.io/v1alpha2\nkind: PodSchedulingContext\nmetadata: {name: pod}\n", "utf-8"
    )
    return over


def test_standard_output_can_be_applied(overlay: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has manifests only: no kustomizations, no documents without an object."""
    (overlay / "kustomization.yaml").write_text("resources: [../base]\n", "utf-8")
    (overlay / "values.yaml").write_text("image: x\n---\n# nothing\n", "utf-8")
    assert main(["migrate", "."]) == 0
    out = capsys.readouterr().out
    parts = out.split("---\n")
    assert [part.partition("kind:")[2].split()[0] for part in parts] == [
        "ResourceClaim",
        "DeviceClass",
        "ConfigMap",
    ]
    assert "# how\n" in parts[0]


def test_kustomizations_do_not_name_files_that_are_gone(overlay: Path) -> None:
    """What is removed in place is not named any more; the other lines stay."""
    assert main(["migrate", "--in-place", "."]) == 0
    base = overlay.parent / "base"
    assert sorted(file.name for file in base.iterdir()) == [
        "claim.yaml",
        "class.yaml",
        "kustomization.yaml",
        "other.yaml",
    ]
    assert (base / "kustomization.yaml").read_text("utf-8") == (
        "resources:\n- claim.yaml # claim\n- class.yaml # class\n- other.yaml # other\n"
    )
    assert main(["migrate", "--check", "."]) == 0


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (
            "- target: {kind: NicSetup}\n  patch: '[{op: replace, path: /spec/ports, value: 3}]'",
            "patches[0]: patches NicSetup fast, which is left out",
        ),
        (
            "- target: {kind: ResourceClass, name: nic}\n  patch: '[{op: remove, path: /suitableNodes}]'",
            "patches[0]: patches ResourceClass nic, which is a DeviceClass now",
        ),
        (
            "- target: {kind: ResourceClaim, name: nic}\n  patch: '[{op: replace, path: /spec/resourceClassName, value: b}]'",
            "patches[0]: patches /spec/resourceClassName of ResourceClaim nic, which has no such field any more",
        ),
        (
            "- path: patch.yaml",
            "patches[0]: patches ResourceClaim other of resource.k8s.io/v1alpha2",
        ),
        (
            "- target: {kind: ResourceClaim, name: nic}\n  patch: '[{op: add, path: /metadata/labels, value: {}}]'",
            "",
        ),
        ("- target: {kind: ResourceClass, name: other}\n  patch: '[{op: remove, path: /suitableNodes}]'", ""),
        ("- target: {kind: ConfigMap, name: other}\n  patch: '[{op: remove, path: /data}]'", ""),
        (
            "- target: {kind: ResourceClaim}\n  patch: '[{path: \"\"}, {path: /spec/²}, {path: /spec/resourceClassName}]'",
            "patches[0]: patches /spec/resourceClassName of ResourceClaim nic, which has no such field any more",
        ),
        ("- path: ../../../nowhere.yaml\n- 3\n- path: [1]\n- target: 1\n  patch: '{'", ""),
    ],
    ids=[
        "parameters",
        "class",
        "field",
        "file",
        "metadata",
        "other-name",
        "other-kind",
        "digits",
        "unreadable",
    ],
)
def test_patches_of_what_is_gone(
    patch: str, message: str, overlay: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch that would apply to nothing is an error that names its target, in the kustomization."""
    (overlay / "kustomization.yaml").write_text(OVERLAY.format(patch), "utf-8")
    (overlay / "patch.yaml").write_text(CLAIM.replace("name: nic #", "name: other #"), "utf-8")
    assert main(["migrate", "."]) == int(bool(message))
    err = capsys.readouterr().err
    if message:
        assert f"over/kustomization.yaml:3: error: kustomization: {message}\n" in err
    else:
        assert "error" not in err


def test_a_patch_is_read_once(overlay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many entries of a kustomization name its file: 1,600 of one with 1,600 documents took 14 s."""
    read: list[str] = []

    def counted(file: str) -> bytes:
        read.append(file)
        return read_file(file)

    (overlay / "patch.yaml").write_text("kind: ResourceClaim\nmetadata: {name: other}\n", "utf-8")
    (overlay / "kustomization.yaml").write_text("patches:\n" + "- path: patch.yaml\n" * 9, "utf-8")
    monkeypatch.setattr("commandline.migrate_files.read_file", counted)
    main(["migrate", "--check", str(overlay.parent)])
    assert [Path(file).name for file in read].count("patch.yaml") == 1


def _claims(count: int) -> str:
    claim = CLAIM.partition("  parametersRef")[0]
    return "---\n".join(claim.replace("name: nic #", f"name: nic-{number} #") for number in range(count))


#: What a stranger may repeat: the resources and patches of a kustomization with so many of each.
REPETITIONS = {
    "equal-patches": lambda count: ("kind: A\nb: 1\n---\n" * count, "- path: patch.yaml\n" * count),
    "named-patches": lambda count: (
        _claims(count),
        "".join(
            f"- {{target: {{kind: ResourceClaim, name: other-{number}}}, patch: '[]'}}\n"
            for number in range(count)
        ),
    ),
}


@pytest.mark.parametrize("repeated", REPETITIONS.values(), ids=REPETITIONS)
def test_work_for_patches_is_in_proportion(
    repeated: Callable[[int], tuple[str, str]], overlay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the number of entries: was to that times the documents of a patch, or times the objects that change."""

    def compared(count: int) -> int:
        """How often the type of a patch or an object is asked for."""
        content, patches = repeated(count)
        (overlay / "patch.yaml").write_text(content, "utf-8")
        (overlay / "kustomization.yaml").write_text(f"patches:\n{patches}", "utf-8")
        steps = itertools.count()
        monkeypatch.setattr(
            "commandline.migrate_files.text", lambda *of: (next(steps), manifests.text(*of))[1]
        )
        main(["migrate", "--check", str(overlay)])
        return next(steps)

    assert compared(40) < 3 * compared(20)


def test_comparisons_of_patches_are_limited(
    overlay: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Patches for all objects of a kind have to be compared with each of them."""
    (overlay / "claims.yaml").write_text(_claims(20), "utf-8")
    patches = "- {target: {kind: ResourceClaim}, patch: '[{path: /a}]'}\n" * 20
    (overlay / "kustomization.yaml").write_text(f"patches:\n{patches}", "utf-8")
    monkeypatch.setattr("commandline.migrate_files.MAX_COMPARISONS", 100)
    assert main(["migrate", "--check", str(overlay)]) == 1
    assert (
        "patches[2]: more than 100 comparisons of patches with objects: the rest is not checked"
        in capsys.readouterr().err
    )
