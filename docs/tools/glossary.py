"""Checks the words of the project: `python -m docs.tools.glossary`.

``docs/explanation/glossary.md`` explains the words in alphabetical order, and has a table of words that are not used.  Each
place in the sources and the documentation where one of these occurs is printed as ``file:line: …``; line 0 is the file's path.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "glossary.md"
#: History keeps the words of its time.
_HISTORY = ("CHANGELOG.md", "docs/explanation/adr/")
_SUFFIXES = frozenset((".py", ".md", ".toml", ".yaml", ".ts", ".tsx", ".mjs"))
_OTHERS = frozenset(("build", "node_modules"))
_HEADING = "\n## Words not used\n"
_CODE = re.compile(r"(`+) ?(.+?) ?\1")


class Banned(NamedTuple):
    """A word that is not used, what to use instead, and how interfaces that keep it write it."""

    word: str
    instead: str
    exceptions: tuple[str, ...]


def words() -> list[str]:
    """The words that the glossary explains, in its order."""
    explained, _, _ = PAGE.read_text(encoding="utf-8").partition(_HEADING)
    return re.findall(r"^- \*\*(.+?)\*\*", explained, re.MULTILINE)


def banned_words() -> dict[str, Banned]:
    """The rows of the table, by word without blanks."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition(_HEADING)
    rows = [
        [cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines() if line[:1] == "|"
    ]
    return {
        word.replace(" ", ""): Banned(word, instead, tuple(found[1] for found in _CODE.findall(exceptions)))
        for word, instead, exceptions in rows[2:]
    }


def found_in(line: str, banned: dict[str, Banned]) -> Iterator[Banned]:
    """The banned words in a line: in `DeviceClass`, `device_class` and "device classes" alike."""
    for found in _pattern(tuple(each.word for each in banned.values())).finditer(line):
        each = banned[re.sub(r"[\W_]", "", found["word"]).lower()]
        if not any(exception in line for exception in each.exceptions):
            yield each


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    anyone = "|".join(word.replace(" ", r"[\s_-]*") for word in words)
    # A capital may begin a word, after a small letter or before one.
    begin = r"(?:(?<![A-Za-z])|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"
    end = r"(?i:s|es|ed|ing)?(?:(?![A-Za-z])|(?<=[a-z])(?=[A-Z]))"
    return re.compile(rf"{begin}(?P<word>(?i:{anyone})){end}")


def files() -> Iterator[Path]:
    """The sources and pages of the project, but for its history and the glossary itself."""
    for file in sorted(ROOT.rglob("*")):
        name = file.relative_to(ROOT).as_posix()
        is_ours = not any(part.startswith(".") or part in _OTHERS for part in name.split("/"))
        if file.suffix in _SUFFIXES and is_ours and not name.startswith(_HISTORY) and file != PAGE:
            yield file


def main() -> int:
    """Print every place with a banned word.

    :returns: the exit code, 1 if there is any
    """
    banned = banned_words()
    count = 0
    for file in files():
        name = str(file.relative_to(ROOT))
        for number, line in enumerate([name, *file.read_text(encoding="utf-8").splitlines()]):
            for each in found_in(line, banned):
                count += 1
                print(f'{name}:{number}: not "{each.word}" but: {each.instead}')
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
