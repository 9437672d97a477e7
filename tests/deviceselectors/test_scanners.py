"""No value of an expression reaches an engine that backtracks: Python's `re` is for the lexer's own pattern only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
#: What compiles patterns for Python's engine, or calls what does.
_BACKTRACKING = frozenset(
    ("re", "fnmatch", "glob", "regex", "sre_compile", "string.Template", "textwrap", "_strptime")
)
#: Reads expressions, whose length is limited, by one pattern whose time `make fuzz` measures.
_ALLOWED = {"deviceselectors/lexer.py": {"re"}}
#: What stands below the libraries, and what texts of objects and expressions become a value by.
_SCANNERS = (
    "resourceapi/names.py",
    "resourceapi/quantity.py",
    "resourceapi/go_text.py",
    "resourceapi/printable.py",
)


def _files() -> list[str]:
    found = [str(file.relative_to(_ROOT)) for file in sorted((_ROOT / "deviceselectors").rglob("*.py"))]
    return [*found, *_SCANNERS]


def _imported(source: str) -> set[str]:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported.update(name.name for name in node.names)
        if isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    return imported


@pytest.mark.parametrize("file", _files())
def test_nothing_backtracks(file: str) -> None:
    """A module reads texts of strangers by RE2 or by scanning them."""
    imported = _imported((_ROOT / file).read_text(encoding="utf-8"))
    assert imported & _BACKTRACKING == _ALLOWED.get(file, set())


def test_imports_are_found_wherever_they_stand() -> None:
    """Also those within functions, and under other names."""
    assert _imported("def f():\n    import re as _r\n    from re import compile\n") == {"re"}
