"""What the guides show of a command's output is what it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commandline.main import main

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "manifests" / "examples" / "placement"
#: A block with the command that prints it; a line with nothing but "…" stands for lines that are left out.
BLOCK = re.compile(r"<!-- output: claimcheck (.*) -->\n\n((?:(?: {4}.*)?\n)+)")
SHOWN = [
    pytest.param(command, block, id=f"{path.stem}-{number}")
    for path in sorted((ROOT / "docs" / "how-to").glob("*.md"))
    for number, (command, block) in enumerate(BLOCK.findall(path.read_text("utf-8")))
]


@pytest.mark.parametrize(("command", "block"), SHOWN)
def test_output(
    command: str, block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line, in this order."""
    monkeypatch.chdir(EXAMPLES)
    main(command.split())
    printed = capsys.readouterr().out
    shown = "".join(line[4:] for line in block.strip("\n").splitlines(keepends=True)) + "\n"
    for part in re.split(r"^ *…\n", shown, flags=re.MULTILINE):
        assert part in printed
        printed = printed.partition(part)[2]


def test_some_are_marked() -> None:
    assert SHOWN
