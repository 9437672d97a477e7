"""The files by which other programs run this one: a pre-commit hook, a GitHub action, an image."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from commandline.subcommands import SUBCOMMANDS
from tests.built_distribution import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
SCRIPT = ROOT / ".github" / "claimcheck-action.sh"


def test_the_hook_runs_a_subcommand_that_takes_files() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, subcommand = hook["entry"].split()
    assert program == "claimcheck"
    assert subcommand in SUBCOMMANDS
    assert hook["language"] == "python"


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
    given = {"PATHS": ".", "KUBE_VERSION": "", "ARGUMENTS": "", "SARIF_FILE": "r.sarif", **environment}
    done = subprocess.run(
        ["bash", str(SCRIPT)],
        env={"PATH": os.environ["PATH"], "RUNNER_TEMP": str(tmp_path), **given},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["validate", "-o", "github", "-o", "sarif=r.sarif", *expected]
    assert not (tmp_path / "pwned").exists()
