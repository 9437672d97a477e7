"""Links from one page of the documentation to another lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES_OF_LINTS = (ROOT / "advice" / "lints" / "pages").glob("*.md")
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "manifests").rglob("*.md"), *PAGES_OF_LINTS]
)
_link = re.compile(r"\]\(([^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page: Path) -> None:
    """Files that are linked to are there, and so are the headings in them."""
    for target in _link.findall(re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)):
        if "://" in target or target.startswith("mailto:"):
            continue
        file, _, heading = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        assert found.exists(), target
        if heading:
            assert heading in _headings(found), target


def _headings(page: Path) -> set[str]:
    """The anchors of a page, as code hosts make them."""
    lines = page.read_text("utf-8").splitlines()
    titles = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}
