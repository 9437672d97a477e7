"""The report as data: one JSON (or YAML) object with the server's ``Status`` beside the places in the sources."""

from __future__ import annotations

from typing import Any, TextIO

from advice.findings import ERROR, NOTE, WARNING, Finding, Result, Stored
from claimcheck.answers.outcome import Outcome
from commandline.reports import stored_objects
from commandline.reports.escaping import write_json


def write(outcome: Outcome, stream: TextIO) -> None:
    """Write the report as JSON."""
    write_json(document(outcome), stream)


def write_yaml(outcome: Outcome, stream: TextIO) -> None:
    """Write the report as YAML."""
    from documents.emitting import block

    stream.writelines(line + "\n" for line in block(document(outcome)))


def document(outcome: Outcome) -> dict[str, Any]:
    """The report as plain data, for both formats."""
    about_stored = stored_objects.document(outcome)
    return {
        "release": outcome.release,
        "summary": {
            "valid": len(outcome.results) - outcome.invalid,
            "invalid": outcome.invalid,
            "errors": outcome.count(ERROR),
            "warnings": outcome.count(WARNING),
            "notes": outcome.count(NOTE),
            "skipped": len(outcome.skipped),
            **({"notForetold": outcome.not_foretold} if outcome.not_foretold else {}),
        },
        **({} if about_stored is None else {"stored": about_stored}),
        "results": [_result(result) for result in outcome.results],
        "skipped": [
            {"apiVersion": api_version, "kind": kind, "count": count, "context": context}
            for api_version, kind, context, count in outcome.skipped_kinds()
        ],
        **(
            {
                "skippedFiles": [
                    {
                        "file": result.file,
                        "findings": [finding_document(finding) for finding in result.findings],
                    }
                    for result in outcome.skipped_files
                ]
            }
            if outcome.skipped_files
            else {}
        ),
        "failures": [{"file": failure.file, "message": failure.message} for failure in outcome.failures],
    }


def _result(result: Result) -> dict[str, Any]:
    data: dict[str, Any] = {"file": result.file, "document": result.document, "line": result.line}
    for key, value in (
        ("apiVersion", result.api_version),
        ("kind", result.kind),
        ("namespace", result.namespace),
        ("name", result.name),
        ("verb", result.verb),
    ):
        if value:
            data[key] = value
    data["valid"] = result.valid
    if result.stored is not None:
        data["stored"] = _stored(result.stored)
    data["findings"] = [finding_document(finding) for finding in result.findings]
    if result.afterwards:
        data["afterwards"] = [finding_document(finding) for finding in result.afterwards]
    if result.answer is not None and not result.answer.accepted:
        data["status"] = result.answer.status()
    return data


def _stored(stored: Stored) -> dict[str, Any]:
    data: dict[str, Any] = {"updates": stored.updates}
    for key, value in (
        ("apiVersion", stored.api_version),
        ("message", stored.message),
        ("lostByUpdates", list(stored.lost)),
    ):
        if value:
            data[key] = value
    return data


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    data: dict[str, Any] = {"severity": finding.severity, "rule": finding.rule}
    if finding.field:
        data["field"] = finding.field
    data["message"] = finding.message
    if finding.line:
        data["line"], data["column"] = finding.line, finding.column
        data["pointer"] = finding.pointer
    if finding.hint:
        data["hint"] = finding.hint
    return data
