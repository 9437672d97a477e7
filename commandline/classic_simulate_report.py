"""The answer of ``claimcheck classic-simulate``: a negotiation, and how the same pods fare with structured parameters.

For people, it is a line for each decision and each write, and what became of the pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from claimcheck.answers.outcome import Failure
from classic.simulation.kube_scheduler import ACTIVE, BACKOFF, NOT_QUEUED
from classic.simulation.scenario import Scenario
from classic.simulation.simulation import Outcome, PodOutcome
from classic.simulation.timeline import Change, Entry, Write
from commandline.reports.writing import failure_documents, failure_lines, table
from resourceapi.manifests import entries, mapping, text
from resourceapi.phrases import number


class Report(NamedTuple):
    """A simulated scenario.

    :ivar name: of a scenario that comes with claimcheck; else empty.
    :ivar structured: what becomes of the same pods with structured parameters.
    """

    name: str
    scenario: Scenario
    outcome: Outcome
    structured: list[PodOutcome]
    failures: list[Failure]

    def structured_of(self, pod: str) -> PodOutcome | None:
        """What becomes of a pod with structured parameters."""
        return next((each for each in self.structured if each.pod == pod), None)


#: Entries and nodes that are listed.
MAX_ENTRIES, MAX_NODES = 1_000, 8
_HEAD = ("time", "attempt", "who", "phase", "what")
_NOTE = (
    "Times are those of an API server that answers in 4 ms. kube-scheduler looks each second for pods whose back-off is over, "
    "here at full seconds; in a cluster, they may wait up to a second less."
)
_STRUCTURED = "with structured parameters (resource.k8s.io/v1)"
_CAUSES = {
    "PodAdd": "the pod is new",
    "PodUpdate": "the pod has changed",
    "BackoffComplete": "its back-off is over",
    "ScheduleAttemptFailure": "the attempt has failed",
}


def lines(report: Report) -> Iterator[str]:
    """The report line by line."""
    yield from failure_lines(report.failures)
    if report.name:
        yield f"{report.name}: {report.scenario.description}"
        yield ""
    elif report.scenario.description:
        yield report.scenario.description
        yield ""
    yield from _timeline(report.outcome.timeline.entries, len(report.outcome.pods) > 1)
    yield ""
    for outcome in report.outcome.pods:
        yield from _result(outcome, report.structured_of(outcome.pod))
    if len(report.outcome.pods) > 1:
        yield ""
        yield f"all of them: {_total(report.outcome.pods)}"
        yield f"  {_STRUCTURED}: {_total(report.structured)}"
    yield ""
    yield _NOTE


def _timeline(listed: Sequence[Entry], with_pods: bool) -> Iterator[str]:
    rows = [_HEAD if not with_pods else (*_HEAD[:2], "pod", *_HEAD[2:])]
    for entry in listed[:MAX_ENTRIES]:
        attempt = str(entry.attempt) if entry.attempt else ""
        pod = (entry.pod,) if with_pods else ()
        rows.append((f"{entry.seconds:.3f} s", attempt, *pod, entry.actor, entry.phase, _what(entry)))
    yield from table(rows, left=range(2, len(rows[0])))
    if len(listed) > MAX_ENTRIES:
        yield f"  and {number(len(listed) - MAX_ENTRIES, 'more line')} (see -o json)"


def _what(entry: Entry) -> str:
    if entry.write is not None:
        return _written(entry.write)
    if entry.phase == "Queue":
        return _queued(entry)
    said = [entry.decision] if entry.decision != "Success" or not entry.reason else []
    return ": ".join(part for part in (_some(entry.nodes), *said, entry.reason) if part)


def _queued(entry: Entry) -> str:
    cause = _CAUSES.get(entry.reason, entry.reason)
    if entry.decision == ACTIVE:
        return f"ready for an attempt: {cause}"
    if entry.decision == NOT_QUEUED:
        return f"is not queued: {cause}"
    if entry.decision == BACKOFF:
        return f"waits for the end of its back-off: {cause}, and something has changed meanwhile"
    return f"waits for a change: {cause}"


def _written(write: Write) -> str:
    verb = f"{write.verb} of" if " " in write.verb else write.verb
    fields = "; ".join(_changed(each) for each in write.changes)
    return f"{verb} {write.kind} {write.name}" + (f": {fields}" if fields else "")


def _changed(change: Change) -> str:
    if change.after is None:
        return f"{change.field} removed"
    return f"{change.field} = {_shown(change.field, change.after)}"


def _shown(field: str, value: Any) -> str:
    """A value, of allocations and the like only what the negotiation is about."""
    if field == "status.allocation":
        return _where(value)
    if field == "status.reservedFor":
        return ", ".join(f"{text(each, 'resource')} {text(each, 'name')}" for each in value)
    if field == "status.resourceClaims":
        return ", ".join(_told(each) for each in value)
    if field == "status.resourceClaimStatuses":
        return ", ".join(f"{text(each, 'name')}: {text(each, 'resourceClaimName')}" for each in value)
    if isinstance(value, list):
        return _some([str(each) for each in value])
    if isinstance(value, dict):
        return ", ".join(f"{name}: {each}" for name, each in value.items())
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _told(status: Any) -> str:
    unsuitable = entries(status, "unsuitableNodes")
    return f"{text(status, 'name')}: {'not ' + _some(unsuitable) if unsuitable else 'no unsuitable nodes'}"


def _where(allocation: Any) -> str:
    terms = entries(mapping(allocation, "availableOnNodes"), "nodeSelectorTerms")
    named = [
        value
        for term in terms
        for each in entries(term, "matchFields")
        for value in entries(each, "values")
        if isinstance(value, str)
    ]
    return (
        f"available on {_some(named)}" if named else "available on selected nodes" if terms else "available"
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NODES} more" if len(names) > MAX_NODES else ""
    return ", ".join(names[:MAX_NODES]) + more


def _result(outcome: PodOutcome, structured: PodOutcome | None) -> Iterator[str]:
    yield f"{outcome.pod}: {_summary(outcome)}"
    if structured is not None:
        yield f"  {_STRUCTURED}: {_summary(structured)}"


def _total(outcomes: Sequence[PodOutcome]) -> str:
    bound = [each.seconds for each in outcomes if each.seconds is not None]
    attempts = number(sum(each.attempts for each in outcomes), "attempt")
    longest = f", the longest wait {max(bound):.3f} s" if bound else ""
    return f"{len(bound):,} of {number(len(outcomes), 'pod')} bound, {attempts}{longest}"


def _summary(outcome: PodOutcome) -> str:
    attempts = number(outcome.attempts, "attempt")
    if outcome.seconds is None:
        return f"not bound, {attempts}"
    return f"bound to {outcome.node} after {outcome.seconds:.3f} s, {attempts}"


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
        **_result_document(outcome),
        "structuredParameters": None if structured is None else _result_document(structured),
    }


def _result_document(outcome: PodOutcome) -> Json:
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
