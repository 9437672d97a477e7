"""The scripts in the shells that they are for, where these are installed."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commandline.completion import SCRIPTS
from commandline.main import main

ROOT = Path(__file__).parents[3]
HOSTILE = (
    "$(touch evil)",
    "`touch evil`",
    "';touch evil;'",
    "\\$(touch evil)",
    "<(touch evil)",
    "${x[$(touch evil)]}",
)


def _needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """With the command on the PATH, in a directory with files and the scripts."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    command = binaries / "claimcheck"
    command.write_text(f"#!{sys.executable}\nfrom commandline.main import main\nraise SystemExit(main())\n")
    command.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for name in ("one.yaml", "two words.yaml"):
        Path(name).touch()
    for shell, script in SCRIPTS.items():
        Path(f"script.{shell}").write_text(script)
    return {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "TERM": "dumb"}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_prints_a_script_that_the_shell_can_read(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing in it is evaluated a second time."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "eval" not in script
    assert "compgen -W" not in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@_needs("bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("claimcheck vali", ["validate"]),
        ("claimcheck validate --kube-v", ["--kube-version"]),
        ("claimcheck validate --color = al", ["always"]),
        ("claimcheck validate --color =", ["auto", "always", "never"]),
        ("claimcheck validate --feature-gates DRAAdminAccess = t", ["true"]),
        (
            "claimcheck validate --feature-gates DRAAdminAccess = true,DRAPartitionableDevices=",
            ["true,DRAPartitionableDevices=true", "true,DRAPartitionableDevices=false"],
        ),
        ("claimcheck validate on", []),
        ("claimcheck nonsense x", []),
    ],
)
def test_bash(words: str, found: list[str], environment: dict[str, str]) -> None:
    """Words are given as bash splits them, at `=` too."""
    assert _in_bash(words.split(), environment) == found


@_needs("bash")
def test_words_are_not_evaluated_by_bash(environment: dict[str, str]) -> None:
    """Whatever has been typed, or pasted."""
    for word in HOSTILE:
        _in_bash(["claimcheck", "validate", word, ""], environment)
        _in_bash(["claimcheck", "validate", word], environment)
        _in_bash(["claimcheck", word], environment)
    assert not Path("evil").exists()


def _in_bash(words: list[str], environment: dict[str, str]) -> list[str]:
    script = (
        'source script.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); __claimcheck_complete; '
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    command = ["bash", "--norc", "-c", script, "bash", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert not done.stderr
    return done.stdout.split()


@_needs("fish")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("claimcheck vali", ["validate"]),
        ("claimcheck validate --kube-v", ["--kube-version"]),
        ("claimcheck validate --color=al", ["--color=always"]),
        ("claimcheck validate --color al", ["always"]),
        ("claimcheck validate on", ["one.yaml"]),
        ("claimcheck validate --filename=on", ["--filename=one.yaml"]),
        ("claimcheck validate --kube-version on", []),
    ],
)
def test_fish(line: str, found: list[str], environment: dict[str, str]) -> None:
    """As `complete -C` shows it."""
    assert _in_fish(line, environment) == found


@_needs("fish")
def test_words_are_not_evaluated_by_fish(environment: dict[str, str]) -> None:
    """Whatever has been typed, or pasted."""
    for word in HOSTILE:
        _in_fish(f"claimcheck validate {word} --ku", environment)
    assert not Path("evil").exists()


def _in_fish(line: str, environment: dict[str, str]) -> list[str]:
    command = ["fish", "--no-config", "-c", "source script.fish; complete -C $argv[1]", line]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return [found.partition("\t")[0] for found in done.stdout.splitlines()]


@_needs("zsh")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("claimcheck vali", "claimcheck validate "),
        ("claimcheck validate --color=al", "claimcheck validate --color=always "),
        ("claimcheck validate on", "claimcheck validate one.yaml "),
        ("claimcheck validate --filename=on", "claimcheck validate --filename=one.yaml "),
        ("claimcheck validate $(touch evil) --kube-v", "claimcheck validate $(touch evil) --kube-version "),
    ],
)
def test_zsh(typed: str, completed: str, environment: dict[str, str]) -> None:
    """On a terminal, with the key that completes."""
    _in_zsh(typed, completed, environment)
    assert not Path("evil").exists()


def _in_zsh(typed: str, completed: str, environment: dict[str, str]) -> None:
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
    try:
        os.write(terminal, b"autoload -U compinit; compinit -D -u; source script.zsh; PROMPT='rea%Bdy%b'\n")
        _read_until(terminal, "ready")
        os.write(terminal, typed.encode() + b"\t")
        _read_until(terminal, completed)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def _read_until(terminal: int, expected: str) -> None:
    """Wait until the terminal shows this: there is time enough on a busy machine."""
    shown = ""
    while select.select([terminal], [], [], 120)[0]:
        shown += os.read(terminal, 4096).decode(errors="replace")
        if expected in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\x07\x08]", "", shown):
            return
    raise AssertionError(shown)
