"""Nothing that strangers write can become Python code, as the product makes none."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

#: What makes code of a text or a tree, and functions of code.
BUILTINS = frozenset(("compile", "eval", "exec", "__import__"))
TYPES = frozenset(("CodeType", "FunctionType", "LambdaType", "MethodType"))


def making(source: str) -> Iterator[str]:
    """The names in a module of what makes code, however they are called or imported."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and node.id in BUILTINS | TYPES:
            yield node.id
        elif isinstance(node, ast.Attribute):
            of_builtins = isinstance(node.value, ast.Name) and node.value.id in ("builtins", "__builtins__")
            if node.attr in TYPES or (of_builtins and node.attr in BUILTINS):
                yield node.attr
        elif isinstance(node, ast.ImportFrom):
            names = TYPES if node.module != "builtins" else BUILTINS | TYPES
            yield from (alias.name for alias in node.names if alias.name in names)


def test_no_code_is_made() -> None:
    """Expressions are evaluated by closures, and nothing else needs code of its own making either."""
    settings = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
    found = {
        path.as_posix(): names
        for package in settings["tool"]["importlinter"]["root_packages"]
        for path in Path(package).rglob("*.py")
        if (names := set(making(path.read_text("utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "compile(text, '', 'eval')",
        "run = exec",
        "builtins.eval(text)",
        "from builtins import exec as run",
        "__import__('os')",
        "types.CodeType(*parts)",
        "from types import FunctionType",
    ],
)
def test_ways_to_make_code_are_found(source: str) -> None:
    """The test above would find each of them."""
    assert list(making(source))


@pytest.mark.parametrize("source", ["re.compile('a')", "patch.compile(time_limit)", "def compile(self): ..."])
def test_methods_are_others(source: str) -> None:
    """A method of such a name is none of these functions."""
    assert not list(making(source))
