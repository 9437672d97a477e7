"""Adds to a result what comes to light only once the object can be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from advice.afterwards.edits import with_value
from advice.afterwards.effort import Effort
from advice.afterwards.later_rounds import LaterRounds, Mistake
from advice.findings import Finding, Result
from advice.interpreter import STRICT_DECODING, problems_of, strict_error
from advice.lints.table import LINTS
from resourceapi.field_errors import Path, render
from resourceapi.manifests import MISSING, value_at
from resourceapi.request_body import schemas_of
from validation.rule_names import WRONG_TYPE

if TYPE_CHECKING:
    from advice.interpreter import Interpreter
    from advice.lints import Warning
    from documents.manifest import Manifest
    from resourceapi.schema import Schema
    from validation.requests import Answer

# What the server answers to an object.
Ask = Callable[[dict[str, Any]], "Answer"]
# The lints' warnings about an object to which the server gives this answer.
Lint = Callable[[dict[str, Any], "Answer"], list["Warning"]]
_BAD_REQUEST = 400


def is_unreadable(answer: Answer) -> bool:
    """Whether the server could not read the object, so that it has not looked for other mistakes."""
    _, unreadable, reason = answer.message.partition(" cannot be handled as a ")
    return (
        answer.code == _BAD_REQUEST and bool(unreadable) and (STRICT_DECODING in reason or bool(answer.path))
    )


def foretell(
    result: Result, manifest: Manifest, sent: dict[str, Any], interpreter: Interpreter, ask: Ask, lint: Lint
) -> None:
    """Add to a result what comes to light once the errors in it are fixed.

    :param sent: the object as it is sent, keys in this order.
    """
    schema = _schema(result, interpreter)
    if schema is None or result.kind not in schema:
        return
    effort = Effort()
    try:
        _foretell(result, LaterRounds(manifest, sent, schema, result.kind, effort), interpreter, ask, lint)
    finally:
        result.effort = effort.values


def _foretell(result: Result, rounds: LaterRounds, interpreter: Interpreter, ask: Ask, lint: Lint) -> None:
    later = Result(
        result.file,
        result.document,
        result.source,
        api_version=result.api_version,
        kind=result.kind,
        namespace=result.namespace,
        name=result.name,
    )
    later.findings = list(result.findings)  # what has been said is not repeated
    known = {_mistake(finding) for finding in result.findings}
    for found in rounds.unreadable:
        for rule, path, message in (
            *((WRONG_TYPE, error.path, error.text) for error in found.errors),
            *map(strict_error, found.problems),
        ):
            if (rule, _field(path), message) not in known:
                interpreter.add_error(later, found.fixed, rule, path, message)

    if rounds.fixed is not None:
        _add_later(later, rounds, interpreter, ask, lint)
    result.afterwards = _without_repetition(later.findings, len(result.findings))


def _add_later(later: Result, rounds: LaterRounds, interpreter: Interpreter, ask: Ask, lint: Lint) -> None:
    """Add what the server and the lints say of an object that can be read, and that has not been said."""

    def mistakes(answer: Answer, warnings: list[Warning]) -> list[Mistake]:
        return [
            *((rule, _field(path), message) for rule, path, message in problems_of(later, answer)),
            *((warning.code, _field(warning.path), warning.message) for warning in warnings),
        ]

    def review(value: dict[str, Any], wanted: set[Mistake]) -> list[Mistake]:
        answer = ask(_in_its_namespace(value, later.namespace))
        return mistakes(answer, lint(value, answer) if any(rule in LINTS for rule, _, _ in wanted) else [])

    known = {_mistake(finding) for finding in later.findings}
    likely = rounds.likely
    answer = ask(likely.value)
    warnings = lint(likely.value, answer)
    found = [mistake for mistake in mistakes(answer, warnings) if mistake not in known]
    certain = rounds.certain(found, review)
    if not certain:
        return
    begin = len(later.findings)
    interpreter.add_answer(later, likely, answer)
    for warning in warnings:
        interpreter.add_lint(later, likely, warning)
    later.findings[begin:] = [each for each in later.findings[begin:] if _mistake(each) in certain]


def _in_its_namespace(value: dict[str, Any], namespace: str) -> dict[str, Any]:
    """An object that belongs to the namespace to which it is sent, whatever its metadata are guessed to be."""
    if not namespace or value_at(value, ("metadata", "namespace")) in (MISSING, namespace):
        return value
    return dict(with_value(value, ("metadata", "namespace"), namespace))


def _without_repetition(findings: list[Finding], known: int) -> list[Finding]:
    """The findings behind the first ``known``, without those that say the same of the same place."""
    said = {_said(finding) for finding in findings[:known]}
    return [finding for finding in findings[known:] if _said(finding) not in said]


def _said(finding: Finding) -> tuple[str, str, int, int]:
    return finding.rule, finding.message, finding.line, finding.column


def _mistake(finding: Finding) -> Mistake:
    return finding.rule, finding.field, finding.message


def _field(path: Path) -> str:
    return render(path) if path else ""


def _schema(result: Result, interpreter: Interpreter) -> Schema | None:
    group, _, version = result.api_version.rpartition("/")
    return schemas_of(interpreter.profile)(group, version, result.kind)
