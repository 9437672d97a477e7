"""The files by which other programs run this one: a pre-commit hook, a GitHub action, an image."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from commandline.main import main
from commandline.subcommands import SUBCOMMANDS
from tests.built_distribution import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
SCRIPT = ROOT / ".github" / "claimcheck-action.sh"


def test_the_hook_runs_a_subcommand_that_takes_files() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, subcommand, *options = hook["entry"].split()
    assert program == "claimcheck"
    assert subcommand in SUBCOMMANDS
    assert options == ["--fail-on-skipped", "--as-found"]
    assert hook["language"] == "python"


CLAIM = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec: {}\n"


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("kustomization.yaml", "resources: [a.yaml]\n", 0),
        ("compose.yaml", "services: {}\n", 0),
        ("package.json", '{"name": "a"}', 0),
        (".pre-commit-config.yaml", "repos: []\n", 0),
        ("named.yaml", "kind: ResourceClaim\n", 1),
        ("second.yaml", f"{CLAIM}---\na: b\n", 1),
        ("invalid.yaml", CLAIM.replace("name: a", "name: B_"), 1),
        ("broken.yaml", "a: [\n", 1),
    ],
)
def test_the_hook_passes_files_of_other_tools(
    name: str, content: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pre-commit names every YAML and JSON file that changes; without the option, each that is named has to be a manifest."""
    monkeypatch.chdir(tmp_path)
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    Path("claim.yaml").write_text(CLAIM)
    Path(name).write_text(content)
    assert main([*hook["entry"].split()[1:], "claim.yaml", name]) == code
    assert main(["validate", "claim.yaml", name]) == 1


def test_inputs_of_the_action_are_never_part_of_a_script() -> None:
    """An expression in `run` would be source text of a shell before it is run."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_the_action_uses_all_its_inputs() -> None:
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == ACTION["inputs"].keys()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"PATHS": "a\n  b c \n\n"}, ["--", "a", "b c"]),
        (
            {"KUBE_VERSION": "1.36", "ARGUMENTS": "--notes\n--exclude=a b"},
            ["--notes", "--exclude=a b", "--kube-version", "1.36", "--", "."],
        ),
        ({"PATHS": "$(touch pwned)\n`id`; --old\n*"}, ["--", "$(touch pwned)", "`id`; --old", "*"]),
    ],
)
def test_the_actions_script_passes_each_line_as_one_argument(
    environment: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    program = tmp_path / "claimcheck" / "bin" / "claimcheck"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    given = {"PATHS": ".", "KUBE_VERSION": "", "ARGUMENTS": "", "SARIF_FILE": "", **environment}
    done = subprocess.run(
        ["bash", str(SCRIPT)],
        env={
            "PATH": os.environ["PATH"],
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            **given,
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    sarif = tmp_path / "claimcheck.sarif"
    fixed = ["validate", "--fail-on-skipped", "-o", "github", "-o", f"sarif={sarif}"]
    assert done.stdout.splitlines() == [*fixed, *expected]
    assert (tmp_path / "output").read_text() == f"sarif-file={sarif}\n"
    assert not (tmp_path / "pwned").exists()


def test_the_action_imports_nothing_from_the_checkout() -> None:
    """Python puts the working directory first on its path when it runs a module, so that must not be the checkout."""
    (install,) = (step for step in ACTION["runs"]["steps"] if step.get("name") == "Install")
    assert install["working-directory"] == "${{ runner.temp }}"
    assert "python3 -I -m venv" in install["run"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate", "--", "--kubeconfig=k.yaml"],
        ["validate", "-o", "text", "--", "claim.yaml", "--kubeconfig=k.yaml"],
        ["validate", "--", "--help"],
        ["convert", "--to", "v1", "--", "--in-place"],
        ["quota", "--", "--kubeconfig=k.yaml"],
        ["explain", "--", "--kubeconfig=k.yaml"],
        ["simulate", "--", "--kubeconfig=k.yaml"],
    ],
    ids=" ".join,
)
def test_what_follows_the_end_of_options_is_a_file(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names of files come from strangers; as options they could run a credential plugin or write files."""
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert f"{arguments[-1]}: " in captured.out + captured.err
    assert "no such file" in captured.out + captured.err


@pytest.mark.parametrize("name", ["--kubeconfig=k.yaml", "--kubeconfig", "-o", "--live"])
def test_a_file_with_the_name_of_an_option_ends_the_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """pre-commit and the shell's `*` pass names without `--`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("")
    assert main(["validate", name, "k.yaml"]) == 2
    assert f"write ./{name} for the file" in capsys.readouterr().err


def test_a_report_is_not_written_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "report.sarif").symlink_to("precious")
    (tmp_path / "claim.yaml").write_text("a: b")
    assert main(["validate", "-o", "sarif=report.sarif", "claim.yaml"]) == 2
    assert "cannot write report.sarif: it is a symbolic link" in capsys.readouterr().err
    assert (tmp_path / "precious").read_text() == "kept"
