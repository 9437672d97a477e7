"""Which lints comments silence, and which codes in them no lint has."""

from __future__ import annotations

from typing import Any

import pytest

from advice.silencing import unknown_codes
from documents import Document, parse

OBJECT = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: x}"


def _warnings(text: str) -> list[tuple[Any, ...]]:
    found = list(parse(text))
    assert all(isinstance(each, Document) for each in found), found
    return [
        (warning.message, warning.hint, warning.place and (warning.place.line, warning.place.column))
        for each in found
        if isinstance(each, Document)
        for warning in unknown_codes(each)
    ]


@pytest.mark.parametrize(
    ("comment", "code", "hint", "column"),
    [
        ("# claimcheck: ignore[CC099]", "CC099", "did you mean `CC009`?", 22),
        ("# claimcheck: ignore[CC001, CC0002]", "CC0002", "did you mean `CC002`?", 29),
        ("#claimcheck:ignore[unknown-claim]", "unknown-claim", "did you mean `CC004`?", 20),
        ("# why # claimcheck: ignore[E501]", "E501", "`claimcheck lint` lists them", 28),
    ],
)
def test_unknown_codes(comment: str, code: str, hint: str, column: int) -> None:
    """A code that no lint has silences nothing, which is told where it is written, in every document once."""
    expected = (f"no lint has the code {code}", hint)
    assert _warnings(f"{comment}\n{OBJECT}") == [(*expected, (1, column))]
    assert _warnings(f"{OBJECT}\n---\n{comment}\n{OBJECT}") == [(*expected, (5, column))]
    items = OBJECT.replace("\n", "\n  ")
    of_list = f"kind: List\napiVersion: v1\nitems:\n- {items}\n- {items}\n{comment}"
    assert [where for _, _, where in _warnings(of_list)] == [(10, column)]


@pytest.mark.parametrize(
    "comment",
    [
        "# claimcheck: ignore",
        "# claimcheck: ignore[]",
        "# claimcheck: ignore[CC001,CC024]",
        "# claimcheck: see CC099",
    ],
)
def test_known_codes(comment: str) -> None:
    """Comments that silence lints, and others."""
    assert _warnings(f"{comment}\n{OBJECT}") == []


def test_many_unknown_codes() -> None:
    """Of thousands, the first are told."""
    assert len(_warnings(f"# claimcheck: ignore[{'X,' * 5000}]\n{OBJECT}")) == 100
