"""What all subcommands have in common: arguments, mistakes in them, and help."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commandline.main import main
from commandline.subcommands import SUBCOMMANDS, parser_of

GOOD = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: %s}
"""


@pytest.fixture(autouse=True)
def _in_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c"):
        Path(f"{name}.yaml").write_text(GOOD % name)


@pytest.mark.parametrize(
    ("arguments", "objects"),
    [
        ("validate a.yaml", 1),
        ("validate -f a.yaml", 1),
        ("validate --filename=a.yaml", 1),
        ("validate -f a.yaml -f b.yaml", 2),
        ("validate -f a.yaml,b.yaml", 2),
        ("validate -f a.yaml b.yaml", 2),
        ("validate a.yaml -f b.yaml --no-lint c.yaml", 3),
        ("validate a.yaml --no-lint b.yaml", 2),
        ("validate -R -f .", 3),
        ("validate --no-lint -- a.yaml", 1),
        ("validate -f a.yaml a.yaml", 1),
    ],
)
def test_files_are_named_in_any_way(arguments: str, objects: int, capsys: pytest.CaptureFixture[str]) -> None:
    """With or without -f, among options, with commas."""
    assert main(arguments.split()) == 0
    assert capsys.readouterr().out.startswith(f"{objects} object")


def test_file_with_a_comma(capsys: pytest.CaptureFixture[str]) -> None:
    """A file of that name counts more than the comma in it."""
    Path("x,y.yaml").write_text(GOOD % "comma")
    assert main(["validate", "-f", "x,y.yaml"]) == 0
    assert capsys.readouterr().out.startswith("1 object:")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("validat a.yaml", "claimcheck: unknown command validat; did you mean validate?"),
        ("nonsense", "claimcheck: unknown command nonsense"),
        ("help validat", "claimcheck: unknown command validat; did you mean validate?"),
        (
            "--no-lint validate a.yaml",
            "claimcheck: unknown option --no-lint in front of the command: options follow it",
        ),
        (
            "validate --kube-versoin 1.36 a.yaml",
            "claimcheck validate: unknown option --kube-versoin; did you mean --kube-version?",
        ),
        (
            "validate --kube-vers=1.36 a.yaml",
            "claimcheck validate: unknown option --kube-vers; did you mean --kube-version?",
        ),
        ("validate --no-lin a.yaml", "claimcheck validate: unknown option --no-lin; did you mean --no-lint?"),
        ("validate a.yaml -F b.yaml", "claimcheck validate: unknown option -F; did you mean -f?"),
        (
            "validate --in-place a.yaml",
            "claimcheck validate: unknown option --in-place; it is an option of convert, migrate",
        ),
        ("validate --xyzzy a.yaml", "claimcheck validate: unknown option --xyzzy"),
        (
            "validate -k overlays",
            "claimcheck validate: unknown option -k; use kubectl kustomize DIR | claimcheck validate -",
        ),
        ("validate --no-color a.yaml", "claimcheck validate: unknown option --no-color; use --color=never"),
        ("cel true false", "claimcheck cel: unexpected argument false"),
        ("convert a.yaml", "claimcheck convert: the following arguments are required: --to"),
        (
            "validate --color=blue a.yaml",
            "claimcheck validate: argument --color: invalid choice: 'blue' (choose from 'auto', 'always', 'never')",
        ),
    ],
)
def test_mistakes(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong, what may be meant, and one line on how to use the command."""
    assert main(arguments.split()) == 2
    out, err = capsys.readouterr()
    first, second = err.splitlines()
    assert not out
    assert first == message
    assert second.startswith("usage: claimcheck")
    assert second.endswith("--help)")


def test_usage_names_the_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are required and those without a name, also after a mistake."""
    main(["convert", "--x"])
    usage = "usage: claimcheck convert --to VERSION [OPTIONS] [FILE|DIR|-]... (see claimcheck convert --help)"
    assert capsys.readouterr().err.splitlines()[1] == usage


@pytest.mark.parametrize("subcommand", ["convert --to v1", "quota", "explain", "simulate"])
def test_no_files(subcommand: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command without its input says what it needs."""
    assert main(subcommand.split()) == 2
    assert "- for standard input" in capsys.readouterr().err


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
@pytest.mark.parametrize("width", ["80", "40", "200"])
def test_help_is_wrapped(
    subcommand: str, width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is wider than the terminal, unless a single word is."""
    monkeypatch.setenv("COLUMNS", width)
    assert main([subcommand, "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: claimcheck {subcommand} ")
    for line in shown.splitlines()[1:]:
        assert len(line) <= int(width) or len(line.strip().split()) < 3, line


def test_help_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`help COMMAND` is `COMMAND --help`."""
    assert main(["help", "quota"]) == 0
    shown = capsys.readouterr().out
    assert main(["quota", "--help"]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("arguments", [["help"], ["--help"], ["-h"]])
def test_overview(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """All commands with their summaries."""
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in SUBCOMMANDS)
    assert max(map(len, shown.splitlines())) <= 80


def test_overview_without_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing asked, nothing done: not a success."""
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("usage: claimcheck COMMAND")


def test_no_option_means_two_things() -> None:
    """Options with the same name take a value in all subcommands or in none, so that hands can learn them."""
    takes_value: dict[str, bool] = {}
    for name in SUBCOMMANDS:
        for option, action in parser_of(name)._option_string_actions.items():
            assert takes_value.setdefault(option, action.nargs != 0) == (action.nargs != 0), option


def test_as_plugin(tmp_path: Path) -> None:
    """As kubectl's plugin, help and usage say `kubectl claimcheck`."""
    plugin = tmp_path / "kubectl-claimcheck"
    plugin.write_text(f"#!{sys.executable}\nfrom commandline.main import main\nraise SystemExit(main())\n")
    plugin.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [plugin, *arguments], capture_output=True, text=True, env=environment, check=False
        )

    shown = run("validate", "--help").stdout
    assert shown.startswith("usage: kubectl claimcheck validate [OPTIONS]")
    assert "| kubectl claimcheck validate -" in shown
    assert "claimcheck: ignore[CC001]" in shown
    assert (
        run("nope").stderr.splitlines()[1]
        == "usage: kubectl claimcheck COMMAND [OPTIONS] (see kubectl claimcheck --help)"
    )
