"""Files that pages name and modules that docstrings name are there, and no module refers to itself by its full name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_links import PAGES, ROOT

PACKAGES = sorted(each.parent.name for each in ROOT.glob("*/__init__.py") if each.parent.name != "tests")
MODULES = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
_PACKAGE = "|".join(PACKAGES)
_PATH = re.compile(rf"`((?:{_PACKAGE}|tests)/[\w/.]+)`")  # those with a hyphen are no modules
_DOTTED = re.compile(rf"`~?((?:{_PACKAGE})(?:\.\w+)+)`")


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "tests" / "README.md"], ids=lambda page: str(page.relative_to(ROOT))
)
def test_pages(page: Path) -> None:
    """Files and folders of a page are there; the log of changes tells of those that there were."""
    if page.name == "CHANGELOG.md":
        pytest.skip("tells of modules that there were")
    assert [name for name in _PATH.findall(page.read_text("utf-8")) if not _is_there(name)] == []


def test_docstrings_and_comments() -> None:
    """What `:class:` and the like lead to is there."""
    wrong = []
    for file in MODULES:
        own = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for name in _DOTTED.findall(file.read_text("utf-8")):
            if not _is_defined(name) or name == own or name.rpartition(".")[0] == own:
                wrong.append(f"{own}: {name}")
    assert wrong == []


def _is_there(path: str) -> bool:
    whole = ROOT / path.rstrip("/.")
    return whole.exists() or whole.with_suffix(".py").exists() or (ROOT / "tests" / path).exists()


def _is_defined(name: str) -> bool:
    """Whether it is a package or module, or something that one of them has."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:length])
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.exists():
                rest = parts[length:]
                return not rest or re.search(rf"\b{rest[0]}\b", file.read_text("utf-8")) is not None
    return False
