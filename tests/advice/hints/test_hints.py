"""Hints for what people really write, from the manifest to the text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from advice import interpreter
from advice.hints import hint_for, hints
from advice.hints.problem import Problem
from commandline.main import main
from tests.case_files import read_yaml

CASES = read_yaml(Path(__file__).parent / "cases.yaml")


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The field that the case names gets this hint, with this text."""
    names: dict[str, str] = {}

    def recording(problem: Problem) -> tuple[str, str]:
        name, text = hint_for(problem)
        names[text] = name
        return name, text

    monkeypatch.setattr(interpreter, "hint_for", recording)
    file = tmp_path / "manifest.yaml"
    file.write_text(case["manifest"], encoding="utf-8")
    options = ["validate", "--no-lint", "-o", "json", str(file), *case.get("options", ())]
    if "old" in case:
        (tmp_path / "old").write_text(case["old"], encoding="utf-8")
        options += ["--old", str(tmp_path / "old")]
    main(options)
    [result] = json.loads(capsys.readouterr().out)["results"]
    found = [finding for finding in result["findings"] if finding.get("field", "") == case["at"]]
    assert [finding.get("hint") for finding in found if "hint" in finding] == [case["text"]], result[
        "findings"
    ]
    assert names[case["text"]] == case["hint"]


def test_every_hint_is_tested() -> None:
    """No hint is without a case, but those about CEL expressions, which have tests of their own."""
    from advice.hints import selectors

    tested = {case["hint"] for case in CASES} | {hint.name for hint in selectors.HINTS}
    assert tested == {hint.name for hint in hints()}


def test_names_are_unique() -> None:
    """A name stands for one hint."""
    names = [hint.name for hint in hints()]
    assert len(set(names)) == len(names)
