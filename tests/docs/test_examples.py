"""What the guides show of a command's output is what it prints, and what they show of a file is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commandline.main import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "manifests" / "examples"
GUIDES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
#: A block with the command that prints it, and in which directory; a line with nothing but "…" stands for lines that are left out.
OUTPUT = re.compile(r"<!-- output(?: in (\w+))?: claimcheck (.*) -->\n\n((?:(?: {4}.*)?\n)+)")
#: A block of a file.
FILE = re.compile(r"<!-- file: (\S+) -->\n\n((?:(?: {4}.*)?\n)+)")


def directory_of(name: str) -> Path:
    """The examples that a guide names: those of a part of the guide for drivers, or others; by default the placement."""
    of_driver = EXAMPLES / "driver" / name
    return of_driver if name and of_driver.is_dir() else EXAMPLES / (name or "placement")


OUTPUTS = [
    pytest.param(
        directory_of(directory),
        command,
        block,
        id=f"{path.stem}-{number}",
    )
    for path in GUIDES
    for number, (directory, command, block) in enumerate(OUTPUT.findall(path.read_text("utf-8")))
]
FILES = [
    pytest.param(EXAMPLES / "driver" / name, block, id=f"{path.stem}-{number}")
    for path in GUIDES
    for number, (name, block) in enumerate(FILE.findall(path.read_text("utf-8")))
]
DRIVERS = sorted(path for path in (EXAMPLES / "driver").iterdir() if path.is_dir())


def assert_shown(block: str, whole: str) -> None:
    """The lines of a block are in a text, in this order."""
    shown = "".join(line[4:] or "\n" for line in block.strip("\n").splitlines(keepends=True)) + "\n"
    for part in re.split(r"^ *…\n", shown, flags=re.MULTILINE):
        assert part in whole
        whole = whole.partition(part)[2]


@pytest.mark.parametrize(("directory", "command", "block"), OUTPUTS)
def test_output(
    directory: Path,
    command: str,
    block: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Line by line, in this order."""
    monkeypatch.chdir(directory)
    main(command.split())
    assert_shown(block, capsys.readouterr().out)


@pytest.mark.parametrize(("file", "block"), FILES)
def test_file(file: Path, block: str) -> None:
    """So it is with what is shown of a file."""
    assert_shown(block, file.read_text("utf-8"))


def test_some_are_marked() -> None:
    assert OUTPUTS
    assert FILES


@pytest.mark.parametrize("directory", DRIVERS, ids=lambda path: path.name)
def test_examples_of_drivers(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The server accepts them without a warning, and a guide shows every file's outcome."""
    gates = "DRADeviceCompatibilityGroups=true"
    assert main(["validate", str(directory), "--feature-gates", gates]) == 0
    assert "warning" not in capsys.readouterr().out
    text = (ROOT / "docs" / "how-to" / "write-a-driver.md").read_text("utf-8")
    shown = [f"{name} {command}" for name, command, _ in OUTPUT.findall(text)]
    for file in directory.glob("*.yaml"):
        assert any(each.startswith(directory.name) and f" {file.name}" in each for each in shown), file
