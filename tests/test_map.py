"""The map of the tests (`tests/README.md`) has all that there is."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
MAP = (HERE / "README.md").read_text(encoding="utf-8")


def _first_cells(heading: str) -> list[str]:
    section = MAP.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_every_folder_is_on_the_map() -> None:
    """Each folder has a row, in alphabetical order."""
    folders = {file.parent.relative_to(HERE).parts[0] for file in HERE.glob("*/**/*.py")}
    assert _first_cells("Folders") == sorted(folders)


def test_every_area_is_on_the_map() -> None:
    """Each file with cases of rules is beside the modules that state these rules, which exist."""
    section = MAP.partition("\n## Cases of the rules of validation\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| [^|`]+ \| (.+) \| (.+) \|$", section, re.MULTILINE)
    modules = {name for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    areas = [name for row in rows for name in re.findall(r"`(\w+)`", row[1])]
    assert sorted(areas) == sorted(file.stem for file in (HERE / "validation" / "cases").glob("*.yaml"))
    assert not {name for name in modules if not (HERE.parent / "validation" / f"{name}.py").is_file()}
