"""Each report as it is written for one set of manifests, in `snapshots/validate/`.

What does not follow from the report's own format is checked besides: that readers of the format can read it.
"""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from advice.findings import ERROR, WARNING, Finding, Result
from claimcheck.answers.outcome import Outcome
from commandline.main import main
from commandline.reports import sarif
from documents.manifest import Unwritten
from tests.commandline.snapshot_files import DIRECTORY, assert_snapshot

HERE = DIRECTORY / "validate"
FORMATS = ("text", "json", "yaml", "sarif", "junit", "github")
ARGUMENTS = ("--runtime-config=resource.k8s.io/v1beta1=true", "manifests", "missing.yaml")


def _report(format: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(HERE)
    monkeypatch.setattr("commandline.reports.sarif._version", lambda: "1")
    assert main(["validate", "-o", format, *ARGUMENTS]) == 2
    return capsys.readouterr().out


@pytest.mark.parametrize("format", FORMATS)
def test_snapshot(format: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The report is what it was when somebody last looked at it."""
    assert_snapshot(_report(format, capsys, monkeypatch), HERE / f"{format}.txt")


def test_yaml_says_what_json_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are the same data."""
    as_json = json.loads(_report("json", capsys, monkeypatch))
    assert yaml.safe_load(_report("yaml", capsys, monkeypatch)) == as_json


def test_json_has_a_place_for_every_cause(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings and the server's causes go in parallel; pointers lead to the value in the document."""
    report = json.loads(_report("json", capsys, monkeypatch))
    result = next(result for result in report["results"] if result.get("name") == "two-mistakes")
    errors = [finding for finding in result["findings"] if finding["severity"] == "error"]
    causes = result["status"]["details"]["causes"]
    assert [cause["message"] for cause in causes] == [error["message"] for error in errors]
    pointers = [error["pointer"] for error in errors]
    assert pointers == ["/spec/devices/constraints/0", "/spec/devices/requests/0/exactly/allocationMode"]
    assert result["status"]["code"] == 422


def test_files_are_named_as_in_the_repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those found in `.`: hosts of repositories know no path that begins with `./`."""
    monkeypatch.chdir(tmp_path)
    Path("bad").mkdir()
    Path("bad/a.yaml").write_text("a: [\n")
    main(["validate", "-o", "github", "."])
    assert capsys.readouterr().out.startswith("::error file=bad/a.yaml,")
    main(["validate", "-o", "sarif", "."])
    [result] = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "bad/a.yaml"


def test_sarif_is_well_formed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What SARIF 2.1.0 requires: known levels, rules that are declared, regions that count from 1, relative URIs."""
    log = json.loads(_report("sarif", capsys, monkeypatch))
    [run] = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert log["version"] == "2.1.0"
    assert len(set(rules)) == len(rules)
    for rule in run["tool"]["driver"]["rules"]:
        # GitHub's code scanning requires these three.
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
    assert run["invocations"][0]["executionSuccessful"] is False
    for result in run["results"]:
        assert result["level"] in ("error", "warning")
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        for location in result["locations"]:
            _check_location(location["physicalLocation"])


def test_sarif_has_as_many_results_as_are_taken() -> None:
    """GitHub refuses a log with more, and would show nothing of it: errors come first, and the rest is counted."""
    result = Result("a.yaml", 1, Unwritten("a.yaml", {}))
    result.findings += [Finding(WARNING, "CC001", "w")] * 25_000 + [Finding(ERROR, "FieldValueInvalid", "e")]
    outcome = Outcome("1.37")
    outcome.results.append(result)
    stream = StringIO()
    sarif.write(outcome, stream)
    [run] = json.loads(stream.getvalue())["runs"]
    assert len(run["results"]) == 25_000
    assert run["results"][0]["level"] == "error"
    [told] = run["invocations"][0]["toolExecutionNotifications"]
    assert told == {"level": "warning", "message": {"text": "1 more finding left out (see -o json)"}}


def _check_location(location: dict[str, Any]) -> None:
    assert not location["artifactLocation"]["uri"].startswith("/")
    region = location["region"]
    assert region["startLine"] >= 1
    assert 1 <= region["startColumn"] < region["endColumn"]


def test_junit_is_well_formed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """XML whose counts are those of its test cases."""
    root = ElementTree.fromstring(_report("junit", capsys, monkeypatch))
    for suite in root.iter("testsuite"):
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        for kind in ("failure", "error", "skipped"):
            counted = suite.attrib["skipped" if kind == "skipped" else f"{kind}s"]
            assert int(counted) == len(suite.findall(f"testcase/{kind}"))
    for name in ("tests", "failures", "errors", "skipped"):
        assert int(root.attrib[name]) == sum(int(suite.attrib[name]) for suite in root.iter("testsuite"))


_WARNED = "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceClass\nmetadata: {name: gpu}\nspec: {}\n"


@pytest.mark.parametrize(
    ("files", "options", "code"),
    [
        ({"class.yaml": _WARNED}, [], 0),
        ({"class.yaml": _WARNED}, ["--warnings-as-errors"], 1),
        ({"class.yaml": _WARNED, ".k8s/class.yaml": _WARNED}, [], 0),
        ({"class.yaml": _WARNED, ".k8s/class.yaml": _WARNED}, ["--fail-on-skipped"], 1),
    ],
    ids=["warning", "warning that fails", "skipped file", "skipped file that fails"],
)
def test_junit_is_red_where_the_job_is(
    files: dict[str, str],
    options: list[str],
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the exit code is 1 for is a failure of a test case."""
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    served = "--runtime-config=resource.k8s.io/v1beta2=true"
    assert main(["validate", "-o", "junit", served, *options, "."]) == code
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert int(root.attrib["failures"]) == len(list(root.iter("failure"))) == code


def test_xml_has_no_characters_that_it_cannot_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A manifest can bring control characters into names and messages."""
    file = tmp_path / "claim.json"
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "a\x01<&\ufffe"},
    }
    file.write_text(json.dumps(claim), encoding="utf-8")
    assert main(["validate", "-o", "junit", str(file)]) == 1
    case = next(ElementTree.fromstring(capsys.readouterr().out).iter("testcase"))
    assert case.attrib["name"] == "ResourceClaim default/a\\x01<&\\ufffe"


def test_terminal_is_not_steered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Escape sequences of a manifest are shown, not sent."""
    file = tmp_path / "claim.json"
    file.write_text(
        '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "\\u001b[2J": 1}', encoding="utf-8"
    )
    assert main(["validate", str(file)]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_github_commands_stay_on_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line breaks of messages are escaped, so that every line but the last is a command."""
    lines = _report("github", capsys, monkeypatch).splitlines()
    assert all(line.startswith(("::error ", "::warning ")) for line in lines[:-1])
