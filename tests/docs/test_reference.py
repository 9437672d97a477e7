"""The documentation says what the program does."""

from __future__ import annotations

import pytest

from docs.tools.reference import DIRECTORY, pages

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_generated_page_is_up_to_date(name: str) -> None:
    """A reference page is what the API model makes it; `make docs` writes it anew."""
    assert (DIRECTORY / name).read_text() == PAGES[name]
