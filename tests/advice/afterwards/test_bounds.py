"""Whatever an object is like, and however many there are: the server's answers are there, in bounded time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from claimcheck.answers.validate import looking_ahead
from commandline.main import main
from resourceapi.releases import Profile
from tests.advice.afterwards.rounds import validated

PROFILE = Profile("1.37")


def _claim(*requests: Any, name: str = "claim") -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": list(requests)}},
    }


def _readable(name: str) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "gpu.example.com"}}


def _wrong(name: str) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "gpu.example.com", "count": "x", "selectors": "s"}}


def test_more_places_than_can_be_searched() -> None:
    """A value that could belong to any of hundreds of requests ends nothing: the server's answer stays."""
    wrong = {"name": "last", "exactly": {"deviceClassName": "gpu.example.com", "count": "x"}}
    result = validated(_claim(*(_readable(f"r-{number}") for number in range(200)), wrong), PROFILE)
    assert [finding.field for finding in result.findings] == ["spec.devices.requests[200].exactly.count"]
    assert not result.afterwards


@pytest.mark.filterwarnings("ignore::claimcheck.answers.validate.looking_ahead.ForetellingFailed")
def test_a_mistake_of_ours_ends_no_review(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is foretold then; the server's answer stays."""

    def fail(*_: Any) -> None:
        raise RecursionError

    monkeypatch.setattr("advice.afterwards.foretelling.LaterRounds", fail)
    result = validated(_claim(_wrong("a")), PROFILE)
    assert [finding.field for finding in result.findings] == ["spec.devices.requests[0].exactly.count"]
    assert not result.afterwards


def test_a_mistake_of_ours_fails_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users do not see it; a test that comes across it does."""

    def fail(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("advice.afterwards.foretelling.LaterRounds", fail)
    with pytest.raises(looking_ahead.ForetellingFailed, match="ZeroDivisionError"):
        validated(_claim(_wrong("a")), PROFILE)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with ten files, each with a claim in which something is foretold."""
    for number in range(10):
        claim = _claim(_wrong("GPU"), name=f"claim-{number}")
        (tmp_path / f"{number}.json").write_text(json.dumps(claim), encoding="utf-8")
    return tmp_path


def _report(directory: Path, capsys: pytest.CaptureFixture[str], processes: str) -> dict[str, Any]:
    assert main(["validate", "-o", "json", "-j", processes, str(directory)]) == 1
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


@pytest.mark.parametrize(("share", "complete"), [(0.25, 3), (0.3, 3), (0.35, 4)])
def test_effort_of_a_run_is_limited(
    share: float,
    complete: int,
    directory: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beyond the limit there is nothing but the server's answer, however many processes there are; the summary says so."""
    everything = _report(directory, capsys, "1")
    assert "notForetold" not in everything["summary"]
    each = validated(_claim(_wrong("GPU"), name="claim-0"), PROFILE).effort
    monkeypatch.setattr(looking_ahead, "MOST_EFFORT", int(10 * each * share))
    limited = _report(directory, capsys, "1")
    foretold = [bool(result.get("afterwards")) for result in limited["results"]]
    assert foretold == [True] * complete + [False] * (10 - complete)
    assert limited["summary"] == {**everything["summary"], "notForetold": 10 - complete}
    assert [each["findings"] for each in limited["results"]] == [
        each["findings"] for each in everything["results"]
    ]
    assert _report(directory, capsys, "2") == limited
    assert main(["validate", str(directory)]) == 1
    assert f"; later mistakes were not looked for in {10 - complete} objects" in capsys.readouterr().out


def test_effort_grows_with_what_is_reviewed() -> None:
    """The effort counts what takes time."""
    few, many = (validated(_claim(*(_wrong(f"G-{n}") for n in range(count))), PROFILE) for count in (3, 6))
    assert 0 < 1.5 * few.effort < many.effort


def test_quotes_that_are_not_closed() -> None:
    """A message is looked through once, however many quotes are in what is not closed: 1 MB took for ever."""
    from advice.afterwards.foretelling import _with_texts

    _, texts = _with_texts([("rule", "", 'say "a" or "' + '\\"' * 500_000)])
    assert texts == ["a"]
