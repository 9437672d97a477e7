"""The answers that tests of the rules expect are a real kube-apiserver's."""

from __future__ import annotations

from resourceapi.measured import MEASURED, measured
from tests.e2e.binaries import ASKED, is_built
from tests.validation import record


def test_recorded_answers_are_the_servers() -> None:
    """Every recorded case is answered today as it was when it was recorded.

    Some forty cases are of releases that no other test needs; those are asked where they have been built, as each takes five
    minutes. `python -m tests.validation.record --check` asks all.
    """
    releases = [each for each in map(measured, MEASURED) if each in ASKED or is_built(each)]
    assert record.main(["--check", *(f"--release={each}" for each in releases)]) == 0
