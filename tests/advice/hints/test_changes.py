"""The change that comes with an advice does away with the problem, and makes no new one at the same field."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from advice import interpreter
from advice.hints import hint_for
from advice.hints.hint import Advice, Problem, changed
from commandline.main import main
from documents.document import Document
from documents.parsing import parse
from resourceapi.field_errors import render
from resourceapi.manifests import MISSING
from tests.advice.hints.breakage import broken_objects, good_objects
from tests.advice.hints.test_hints import CASES
from validation.requests import NOT_SERVED, SERVER_WARNING

RELEASES = ("1.34", "1.37")
Found = list[tuple[Problem, str, Advice]]
Errors = list[tuple[str, str]]


class Server:
    """Answers through the command line, and keeps the problems that hints were asked for."""

    def __init__(
        self, release: str, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.release = release
        self.file = file
        self.capsys = capsys
        self._found: dict[str, Found] = defaultdict(list)
        monkeypatch.setattr(interpreter, "hint_for", self._recording)

    def _recording(self, problem: Problem) -> tuple[str, Advice]:
        name, advice = hint_for(problem)
        self._found[_text(problem.object)].append((problem, name, advice))
        return name, advice

    def ask(self, objects: list[Any]) -> list[tuple[Errors, Found]]:
        """Rules and fields of the errors of each object, and what the hints said."""
        self._found.clear()
        self.file.write_text("\n---\n".join(map(json.dumps, objects)), encoding="utf-8")
        main(
            [
                *f"validate --no-lint -o json --runtime-config api/all=true --kube-version {self.release}".split(),
                str(self.file),
            ]
        )
        errors: dict[int, Errors] = defaultdict(list)
        for result in json.loads(self.capsys.readouterr().out)["results"]:
            for finding in result["findings"]:
                if finding["severity"] == "error":
                    errors[result["document"]].append((finding["rule"], finding.get("field", "")))
        return [(errors[n], self._found[_text(each)]) for n, each in enumerate(objects, 1)]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _unfixed(server: Server, objects: list[Any]) -> list[tuple[str, Any, Errors]]:
    """The changes after which the field of the problem still has one: hint, text, errors."""
    tried = [
        (problem, name, advice, changed(value, advice.changes))
        for value, (_, found) in zip(objects, server.ask(objects), strict=True)
        for problem, name, advice in found
        if advice.changes
        and problem.rule != SERVER_WARNING
        and not isinstance(problem.value, bool)  # in JSON, nobody knows that somebody wrote `y`
    ]
    answers = server.ask([value for *_, value in tried])
    unfixed = []
    for (problem, name, advice, _), (errors, _found) in zip(tried, answers, strict=True):
        field = "" if problem.rule == NOT_SERVED else render(problem.path)
        left = [error for error in errors if error[1] == field and (field or error[0] == NOT_SERVED)]
        if left:
            unfixed.append((name, advice.text, left))
    return unfixed


@pytest.mark.parametrize("release", RELEASES)
def test_broken_objects(
    release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Good objects with a mistake."""
    server = Server(release, tmp_path / "objects.json", capsys, monkeypatch)
    good = list(good_objects())
    served = [each for each, (errors, _) in zip(good, server.ask(good), strict=True) if not errors]
    assert len(served) > 10
    objects = list(broken_objects(served))
    assert len(objects) > 300
    assert _unfixed(server, objects) == []


@pytest.mark.parametrize("release", RELEASES)
def test_cases(
    release: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What people really write."""
    server = Server(release, tmp_path / "objects.json", capsys, monkeypatch)
    documents = [document for case in CASES for document in parse(case["manifest"])]
    objects = [document.value for document in documents if isinstance(document, Document)]
    assert len(objects) == len(CASES)
    assert _unfixed(server, objects) == []


@pytest.mark.parametrize(
    ("value", "changes", "expected"),
    [
        ({"a": 1, "b": 2}, [(("a",), MISSING), (("c",), 1)], {"b": 2, "c": 1}),
        ({"a": [{"b": 1}]}, [(("a", 0, "c", "d"), 2)], {"a": [{"b": 1, "c": {"d": 2}}]}),
        ({"a": [1, 2]}, [(("a", 0), MISSING)], {"a": [2]}),
        ({"a": None}, [(("a", "b"), 1)], {"a": {"b": 1}}),
        ({"a": 1}, [((), {"b": 2})], {"b": 2}),
        ({"a": 1}, [(("b",), MISSING)], {"a": 1}),
    ],
)
def test_changed(value: Any, changes: list[Any], expected: Any) -> None:
    """Changes are made one after the other, on a copy."""
    before = _text(value)
    assert changed(value, changes) == expected
    assert _text(value) == before
