"""The timeline for programs. docs/how-to/classic-simulate.md describes the keys."""

from __future__ import annotations

from typing import Any

from classic.simulation.simulation import PodOutcome
from classic.simulation.timeline import Entry
from commandline.classic_simulate.report import Report
from commandline.reports.writing import failure_documents

Json = dict[str, Any]


def document(report: Report) -> Json:
    """The report as plain data."""
    return {
        "scenario": report.name or None,
        "description": report.scenario.description or None,
        "pods": [_pod(report, each) for each in report.outcome.pods],
        "timeline": [_entry(each) for each in report.outcome.timeline.entries],
        "failures": failure_documents(report.failures),
    }


def _pod(report: Report, outcome: PodOutcome) -> Json:
    structured = report.structured_of(outcome.pod)
    return {
        "pod": outcome.pod,
        **_result(outcome),
        "structuredParameters": None if structured is None else _result(structured),
    }


def _result(outcome: PodOutcome) -> Json:
    return {"node": outcome.node or None, "attempts": outcome.attempts, "seconds": outcome.seconds}


def _entry(entry: Entry) -> Json:
    answer: Json = {
        "seconds": entry.seconds,
        "actor": entry.actor,
        "pod": entry.pod or None,
        "attempt": entry.attempt or None,
        "phase": entry.phase or None,
    }
    if entry.write is None:
        reason = {"reason": entry.reason} if entry.reason else {}
        nodes = {"nodes": list(entry.nodes)} if entry.nodes else {}
        return {**answer, "decision": entry.decision, **reason, **nodes}
    changes = [
        {"field": each.field, "before": each.before, "after": each.after} for each in entry.write.changes
    ]
    written = {"verb": entry.write.verb, "kind": entry.write.kind, "name": entry.write.name}
    return {**answer, "write": {**written, "changes": changes}}
