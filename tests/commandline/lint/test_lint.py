"""`claimcheck lint`: the pages of the lints."""

from __future__ import annotations

import pytest

from advice.lints.table import LINTS
from claimcheck.answers.doctor.checks import CHECKS
from commandline.main import main


@pytest.mark.parametrize("given", ["CC004", "cc004", "unknown-claim"])
def test_a_page(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A lint is named by its code or its name; links, which would lead nowhere, are text."""
    assert main(["lint", given]) == 0
    page = capsys.readouterr().out
    assert page.startswith("# CC004: unknown-claim\n\nA pod names")
    assert "Among files alone this is a note" in page


def test_several_pages(capsys: pytest.CaptureFixture[str]) -> None:
    """They are printed one after the other."""
    assert main(["lint", "CC001", "CC002"]) == 0
    page = capsys.readouterr().out
    assert "\n\n# CC002: unknown-device-class\n" in page


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a code, each lint and each check of doctor has a line."""
    assert main(["lint"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        [each.code, each.name] for table in (LINTS, CHECKS) for each in table.values()
    ]


@pytest.mark.parametrize(
    ("given", "meant"),
    [("CC0O4", "; did you mean CC004?"), ("unknown-clam", "; did you mean CC004?"), ("E501", "")],
)
def test_no_such_lint(given: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A code that no lint has is an error."""
    assert main(["lint", given]) == 2
    assert capsys.readouterr().err == f"claimcheck: {given}: no lint has this code or name{meant}\n"
