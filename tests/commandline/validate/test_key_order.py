"""The order of keys: kubectl sends them sorted, `curl` as they stand in the file; `key_order.json` has real answers to both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from resourceapi.recognition import with_sorted_keys

RECORDED = json.loads(Path(__file__).with_name("key_order.json").read_text(encoding="utf-8"))


def _message(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["validate", "-o", "json", "--no-lint", *arguments])
    status = json.loads(capsys.readouterr().out)["results"][0].get("status")
    return str(status["message"]) if status else ""


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["note"])
@pytest.mark.parametrize(("sender", "options"), [("kubectl", ()), ("as sent", ("--as-sent",))])
def test_answer(
    case: dict[str, str],
    sender: str,
    options: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The answer is the one that kubectl gets, with --as-sent the one that `curl` gets."""
    file = tmp_path / "claim.json"
    file.write_text(case["body"], encoding="utf-8")
    assert _message(capsys, *options, str(file)) == case[sender]


@pytest.mark.parametrize("options", [(), ("--as-sent",)])
def test_yaml_is_sorted_by_whoever_reads_it(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """YAML gets one answer: what kubectl does not sort, the server does."""
    case = RECORDED[0]
    file = tmp_path / "claim.yaml"
    file.write_text(f"# YAML\n{case['body']}", encoding="utf-8")
    assert _message(capsys, *options, str(file)) == case["kubectl"]


def test_sorting_follows_any_depth() -> None:
    """Objects of clusters may be thousands of levels deep; the order of lists stays, and so does the original."""
    value: Any = {"b": 1, "a": 2}
    for _ in range(5000):
        value = {"z": [3, value, 1], "y": 0}
    found: Any = with_sorted_keys(value)
    assert list(value) == ["z", "y"]
    for _ in range(5000):
        assert list(found) == ["y", "z"]
        assert found["z"][0] == 3
        found = found["z"][1]
    assert list(found) == ["a", "b"]
