"""Outcomes as plain data, small enough to send to another process."""

from __future__ import annotations

from typing import Any

from advice.findings import Finding, Result
from commandline.results import Failure, Outcome, Skipped
from validation.requests import Answer

# Of a result: its identity, the line where it begins, its findings, lines of its source, a refusal's Status.
PackedResult = tuple[
    tuple[str, int, str, str, str, str],
    int,
    list[tuple[Any, ...]],
    dict[int, str],
    dict[str, Any] | None,
]
Packed = tuple[list[PackedResult], list[tuple[Any, ...]], list[tuple[str, str]], int]


def pack(outcome: Outcome, *, lines: bool) -> Packed:
    """Everything that reports show of an outcome.

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
        [tuple([getattr(finding, slot) for slot in Finding.__slots__]) for finding in result.findings],
        {
            finding.line: result.source.source_line(finding.line)
            for finding in result.findings
            if finding.line
        },
        None if answer is None or answer.accepted else answer.status(),
    )


def _unpack(packed: PackedResult) -> Result:
    (file, document, api_version, kind, namespace, name), line, findings, lines, status = packed
    source = _Excerpt(line, lines) if line or lines else _NO_EXCERPT
    result = Result(
        file, document, source, api_version=api_version, kind=kind, namespace=namespace, name=name
    )
    for values in findings:
        finding = Finding.__new__(Finding)
        for slot, value in zip(Finding.__slots__, values, strict=True):
            setattr(finding, slot, value)
        result.findings.append(finding)
    if status is not None:
        result.answer = Answer(
            status["code"],
            reason=status.get("reason", ""),
            message=status["message"],
            details=status.get("details"),
        )
    return result
