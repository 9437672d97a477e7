"""Outcomes as plain data, small enough to send to another process."""

from __future__ import annotations

from typing import Any, TypeVar

from advice.findings import Finding, Result, Stored
from claimcheck.answers.outcome import Failure, Outcome, Skipped
from validation.requests import Answer

# Of a result: its identity, the line where it begins, its findings and those for afterwards, what it took to look for these
# and whether that was done, lines of its source, a refusal's Status, what becomes of it as it is stored.
PackedResult = tuple[
    tuple[str, int, str, str, str, str],
    int,
    list[tuple[Any, ...]],
    list[tuple[Any, ...]],
    tuple[int, bool],
    dict[int, str],
    dict[str, Any] | None,
    tuple[Any, ...] | None,
]
Each = TypeVar("Each", Finding, Stored)
Packed = tuple[list[PackedResult], list[tuple[Any, ...]], list[tuple[str, str]], int]


def pack(outcome: Outcome, *, lines: bool) -> Packed:
    """Everything that reports show of an outcome.

    What would fix findings is left out: who asks for that has one process.

    :param lines: whether they also show the lines of results without findings.
    """
    return (
        [_pack(result, lines) for result in outcome.results],
        [
            (skipped.file, skipped.document, skipped.api_version, skipped.kind, skipped.name, skipped.context)
            for skipped in outcome.skipped
        ],
        [(failure.file, failure.message) for failure in outcome.failures],
        outcome.hidden_notes,
    )


def unpack(packed: Packed, outcome: Outcome) -> None:
    """Append a packed outcome to another."""
    results, skipped, failures, hidden_notes = packed
    outcome.results += map(_unpack, results)
    for file, document, api_version, kind, name, context in skipped:
        outcome.skipped.append(
            Skipped(file, document, api_version=api_version, kind=kind, name=name, context=context)
        )
    outcome.failures += [Failure(file, message) for file, message in failures]
    outcome.hidden_notes += hidden_notes


class _Excerpt:
    """The lines of a source that reports show."""

    __slots__ = ("_lines", "line")

    def __init__(self, line: int, lines: dict[int, str]) -> None:
        self.line = line
        self._lines = lines

    def source_line(self, number: int) -> str:
        return self._lines[number]


_NO_EXCERPT = _Excerpt(0, {})


def _pack(result: Result, lines: bool) -> PackedResult:
    answer = result.answer
    return (
        (result.file, result.document, result.api_version, result.kind, result.namespace, result.name),
        result.line if lines else 0,
        [_values(finding) for finding in result.findings],
        [_values(finding) for finding in result.afterwards],
        (result.effort, result.is_foretold),
        {
            finding.line: result.source.source_line(finding.line)
            for finding in (*result.findings, *result.afterwards)
            if finding.line
        },
        None if answer is None or answer.accepted else answer.status(),
        None if result.stored is None else _values(result.stored),
    )


def _values(each: Finding | Stored) -> tuple[Any, ...]:
    return tuple([() if slot == "changes" else getattr(each, slot) for slot in each.__slots__])


def _with_values(empty: Each, values: tuple[Any, ...]) -> Each:
    for slot, value in zip(empty.__slots__, values, strict=True):
        setattr(empty, slot, value)
    return empty


def _unpack(packed: PackedResult) -> Result:
    identity, line, findings, afterwards, foretelling, lines, status, stored = packed
    file, document, api_version, kind, namespace, name = identity
    source = _Excerpt(line, lines) if line or lines else _NO_EXCERPT
    result = Result(
        file, document, source, api_version=api_version, kind=kind, namespace=namespace, name=name
    )
    result.findings += [_with_values(Finding.__new__(Finding), values) for values in findings]
    result.afterwards += [_with_values(Finding.__new__(Finding), values) for values in afterwards]
    result.effort, result.is_foretold = foretelling
    if stored is not None:
        result.stored = _with_values(Stored.__new__(Stored), stored)
    if status is not None:
        result.answer = Answer(
            status["code"],
            reason=status.get("reason", ""),
            message=status["message"],
            details=status.get("details"),
        )
    return result
