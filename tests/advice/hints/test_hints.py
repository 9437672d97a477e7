"""Hints for what people really write, from the manifest to the text."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from advice import hints, interpreter
from advice.hints import CLASSIC_MODULES, MODULES, hint_for
from advice.hints.hint import Advice, Hint, Problem
from commandline.main import main
from resourceapi.field_errors import TOO_MANY
from resourceapi.releases import Profile
from tests.case_files import read_yaml

ALL_MODULES = CLASSIC_MODULES | MODULES
CASES = read_yaml(Path(__file__).parent / "cases.yaml")


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(
    case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The field that the case names gets this hint, with this text."""
    names: dict[str, str] = {}

    def recording(problem: Problem) -> tuple[str, Advice]:
        name, advice = hint_for(problem)
        names[advice.text] = name
        return name, advice

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


def _hints(*modules: str) -> list[Hint]:
    return [
        hint for module in modules or ALL_MODULES for hint in import_module(f"advice.hints.{module}").HINTS
    ]


@pytest.mark.parametrize("module", ALL_MODULES)
def test_modules_are_looked_at_for_their_rules(module: str) -> None:
    """A module is imported for the rules of its hints, and for no other."""
    assert {rule for hint in _hints(module) for rule in hint.rules} == set(ALL_MODULES[module])


def test_every_module_is_looked_at() -> None:
    """No file with hints is forgotten."""
    files = Path(hints.__file__).parent.glob("*.py")
    assert {file.stem for file in files if "\nHINTS = (" in file.read_text(encoding="utf-8")} == set(
        ALL_MODULES
    )


def test_every_hint_is_tested() -> None:
    """No hint is without a case, but those about CEL expressions, large objects, managers, configurations, patches and lists, which have their own tests."""
    from advice.hints import expressions

    tested = (
        {case["hint"] for case in CASES}
        | {hint.name for hint in expressions.HINTS}
        | {
            "too-many-devices",
            "last-applied",
            "field-conflict",
            "patch-type",
            "no-yaml",
            "long-key",
            "null-in-a-list",
            "number-in-a-list",
        }
    )
    assert tested == {hint.name for hint in _hints()}


def test_names_are_unique() -> None:
    """A name stands for one hint."""
    names = [hint.name for hint in _hints()]
    assert len(set(names)) == len(names)


def test_more_devices_than_a_slice_holds() -> None:
    """What a slice cannot hold goes into another one."""
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "spec": {"devices": [{"name": f"gpu-{n}"} for n in range(129)]},
    }
    message = "Too many: 129: must have at most 128 items"
    name, advice = hint_for(Problem(TOO_MANY, message, ("spec", "devices"), manifest, Profile()))
    assert (name, advice.text) == (
        "too-many-devices",
        "put the rest into another ResourceSlice of the same pool, and count it in `resourceSliceCount`",
    )
