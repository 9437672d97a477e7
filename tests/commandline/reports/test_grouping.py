"""People are shown once what many findings say, with the number of the others; programs get every finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from advice.findings import UPDATES_ACCEPTED, WARNING, Finding, Result, Stored
from commandline.main import main
from commandline.reports.grouping import SHOWN_IN_FULL, grouped
from commandline.reports.stored_objects import remark

LONG = 200_000
KEPT = "the object keeps the field, even when it is updated, and loses it only if it is created again"
LOST = "the object has the field until it is updated or created again"


class _Source:
    line = 1

    def source_line(self, number: int) -> str:
        return ""


def _findings(
    *objects: tuple[str, list[tuple[str, str]]], rule: str = "CC006"
) -> list[tuple[Result, Finding]]:
    """Findings of objects in files: the field and message of each."""
    found = []
    for file, texts in objects:
        result = Result(file, 1, _Source())
        for line, (field, message) in enumerate(texts, 1):
            found.append((result, Finding(WARNING, rule, message, field=field, line=line, column=5)))
    return found


def _shown(findings: list[tuple[Result, Finding]]) -> list[tuple[str, str]]:
    return [(finding.field, others) for _, finding, others in grouped(findings)]


def _fields(count: int) -> list[tuple[str, str]]:
    return [(f"spec.devices[{index}].x", "no") for index in range(count)]


def test_a_few_are_shown_in_full() -> None:
    """Up to the limit nothing is grouped; one above, all but the first are."""
    assert _shown(_findings(("a", _fields(SHOWN_IN_FULL)))) == [
        (f"spec.devices[{index}].x", "") for index in range(SHOWN_IN_FULL)
    ]
    assert _shown(_findings(("a", _fields(SHOWN_IN_FULL + 1)))) == [
        ("spec.devices[0].x", "3 like this: a:2:5, a:3:5, a:4:5 (--show-all lists them)")
    ]


@pytest.mark.parametrize(
    ("objects", "others"),
    [
        pytest.param((6,), "5 like this: f0:2:5, f0:3:5, f0:4:5, …", id="one object"),
        pytest.param((1, 1, 1, 1), "3 like this, in 3 objects: f1:1:5, f2:1:5, f3:1:5", id="one each"),
        pytest.param((2, 2), "3 like this, in 2 objects: f1:1:5, …", id="more in the first as well"),
        pytest.param((1, 4), "4 like this, in 1 object: f1:1:5, …", id="all others in the second"),
        pytest.param(
            (64,) * 300, "19,199 like this, in 300 objects: f1:1:5, f2:1:5, f3:1:5, …", id="in many objects"
        ),
    ],
)
def test_places_are_in_other_objects(objects: tuple[int, ...], others: str) -> None:
    """The first places that are named are in other objects, if there are any."""
    findings = _findings(*((f"f{index}", _fields(count)) for index, count in enumerate(objects)))
    assert _shown(findings) == [("spec.devices[0].x", f"{others} (--show-all lists them)")]


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        (("a[0].b", "no"), ("a[1].b", "no"), True),
        (("a[x/y].b", "no"), ("a[z].b", "no"), True),
        (("a.b", "no"), ("a.c", "no"), False),
        (("a", 'Invalid value: "x": bad'), ("a", 'Invalid value: "y\\"z": bad'), True),
        (
            ("", 'no matches for kind "A" in version "v1"'),
            ("", 'no matches for kind "A" in version "v1"'),
            True,
        ),
        (
            ("", 'no matches for kind "A" in version "v1"'),
            ("", 'no matches for kind "B" in version "v1"'),
            False,
        ),
        (("a", "must be at most 3"), ("a", "must be at most 45"), True),
        (("a", "drops `b`"), ("a", "drops `c`"), False),
        (("a", 'Invalid value: "x": bad'), ("a", 'Invalid value: "x": worse'), False),
    ],
)
def test_alike_but_for_values(first: tuple[str, str], second: tuple[str, str], alike: bool) -> None:
    """Indices, keys, quoted strings and numbers may differ; the field and the sentence may not, and without a field nothing."""
    shown = _shown(_findings(("f", [first] * SHOWN_IN_FULL + [second])))
    assert (len(shown) == 1) is alike


def test_rules_are_told_apart() -> None:
    """The same words by another rule are another finding."""
    findings = _findings(("a", _fields(3))) + _findings(("a", _fields(3)), rule="CC001")
    assert len(_shown(findings)) == 6


def test_what_becomes_of_stored_objects_is_told_apart() -> None:
    """Findings in the same words are not alike if they mean something else for the objects as they are stored."""
    findings = _findings(("a", _fields(2)), ("b", _fields(2)))
    for number, (result, _) in enumerate(findings):
        lost = ("spec.devices[0].x", "spec.devices[1].x") if number > 1 else ()
        result.stored = Stored(UPDATES_ACCEPTED, lost=lost)
    assert [remark(result, finding) for result, finding in findings] == [KEPT, KEPT, LOST, LOST]
    assert len(_shown(findings)) == 4


@pytest.mark.parametrize("piece", ['"', '"a\\', "[", '[\\"'])
def test_long_messages_take_time_in_proportion(piece: str) -> None:
    """What opens and never closes is read once; anything else would take hours here."""
    findings = _findings(("a", [(piece * LONG, piece * LONG)] * 2))
    assert len(_shown(findings)) == 2


CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: claim-{0}}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: "Class {0}"}}}}]}}}}
"""


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("claims.yaml").write_text("---\n".join(map(CLAIM.format, range(5))), encoding="utf-8")
    return "claims.yaml"


def _report(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["validate", *arguments])
    return capsys.readouterr().out


MORE = (
    "4 like this, in 4 objects: claims.yaml:9:68, claims.yaml:14:68, claims.yaml:19:68, … "
    "(--show-all lists them)"
)


def test_text(claims: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line under the first finding says how many are like it; the summary counts all."""
    shown = _report(capsys, claims)
    assert shown.count("error:") == 1
    assert f"     = more: {MORE}\n\n5 objects: 0 valid, 5 invalid; 5 errors\n" in shown


def test_show_all(claims: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--show-all shows each, and no such line."""
    shown = _report(capsys, "--show-all", claims)
    assert shown.count("error:") == 5
    assert "= more:" not in shown


def test_annotations(claims: str, capsys: pytest.CaptureFixture[str]) -> None:
    """GitHub shows few annotations of a step, so that alike ones are one there, too."""
    [command, summary] = _report(capsys, "-o", "github", claims).splitlines()
    assert command.endswith(f"%0Amore: {MORE}")
    assert summary.startswith("5 objects")
    assert _report(capsys, "-o", "github", "--show-all", claims).count("::error ") == 5


def test_formats_for_programs_are_complete(claims: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is left out of JSON, SARIF and JUnit."""
    results = json.loads(_report(capsys, "-o", "json", claims))["results"]
    assert [len(result["findings"]) for result in results] == [1] * 5
    [run] = json.loads(_report(capsys, "-o", "sarif", claims))["runs"]
    assert len(run["results"]) == 5
    assert _report(capsys, "-o", "junit", claims).count("<failure ") == 5
