"""The answer of ``claimcheck doctor``: text for people, plain data, and findings for the formats of ``validate``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from advice.findings import ERROR, NOTE, WARNING, Finding, Result
from claimcheck.answers.doctor.examination import Examination
from claimcheck.answers.doctor.examined import Affected, Diagnosis
from claimcheck.answers.outcome import Failure, Outcome
from commandline.reports.writing import failure_documents, failure_lines
from documents.manifest import Unwritten
from resourceapi.phrases import number, plural, some

#: Findings of one severity in the text.
MAX_FINDINGS = 20


def lines(answer: Examination) -> Iterator[str]:
    """A paragraph for each cause, worst first."""
    counts = Counter[str]()
    for each in answer.diagnoses:
        counts[each.check.severity] += 1
        if counts[each.check.severity] <= MAX_FINDINGS:
            yield from paragraph(each)
            yield ""
    yield from failure_lines(answer.failures)
    yield from _not_looked_at(answer)
    yield _summary(answer, counts)
    for severity, count in counts.items():
        if count > MAX_FINDINGS:
            yield f"{number(count - MAX_FINDINGS, f'more {severity}')} (see -o json)"


def paragraph(diagnosis: Diagnosis) -> Iterator[str]:
    """A finding for people."""
    check, devices = diagnosis.check, diagnosis.devices
    yield f"{check.severity}[{check.code}]: {subject(diagnosis.objects)}: {diagnosis.cause}"
    if devices:
        yield f"  nobody else can have {'this device' if devices == 1 else f'these {devices:,} devices'}"
    if diagnosis.remedy:
        yield f"  {diagnosis.remedy}"
    yield f"  more: {diagnosis.command or f'claimcheck lint {check.code}'}"


def subject(objects: Sequence[Affected]) -> str:
    """`ResourceClaim team/a`, `Pods team/a, team/b, team/c and 9 others`."""
    kind = objects[0].kind if len(objects) == 1 else plural(objects[0].kind)
    return f"{kind} {some([each.full_name for each in objects])}"


def _not_looked_at(answer: Examination) -> Iterator[str]:
    """A sentence for each part of the cluster that nothing is known of."""
    for what in answer.unfinished:
        yield f"There was no time to look at all {what} (--timeout)."
    yield from answer.unread


def _summary(answer: Examination, counts: Counter[str]) -> str:
    if not answer.diagnoses:
        return f"nothing wrong was found{'' if answer.is_complete else ' in what was looked at'}"
    parts = [number(counts[each], each) for each in (ERROR, WARNING, NOTE) if counts[each]]
    return f"{', '.join(parts)}; claimcheck lint CODE says what one means"


def document(answer: Examination) -> dict[str, Any]:
    """The answer as plain data; docs/how-to/doctor.md has the keys."""
    return {
        "findings": [finding(each) for each in answer.diagnoses],
        "unfinished": answer.unfinished,
        "unread": answer.unread,
        "failures": failure_documents(answer.failures),
    }


def finding(diagnosis: Diagnosis) -> dict[str, Any]:
    """A finding as plain data."""
    return {
        "code": diagnosis.check.code,
        "name": diagnosis.check.name,
        "severity": diagnosis.check.severity,
        "cause": diagnosis.cause,
        "objects": [_object(affected) for affected in diagnosis.objects],
        "devices": diagnosis.devices,
        "remedy": diagnosis.remedy,
        "command": diagnosis.command,
    }


def _object(affected: Affected) -> dict[str, str]:
    named = {"kind": affected.kind, "namespace": affected.namespace, "name": affected.name}
    return {key: value for key, value in named.items() if value}


def outcome(answer: Examination, source: str) -> Outcome:
    """The findings as those of ``validate``, each about the first object that has it.

    :param source: the file or directory with the objects; empty for a live cluster.
    """
    found = Outcome()
    place = source or "cluster"
    found.failures = [*answer.failures, *(Failure(place, each) for each in _not_looked_at(answer))]
    for each in answer.diagnoses:
        first = each.objects[0]
        result = Result(
            place,
            1,
            Unwritten(source, {}),
            kind=first.kind,
            namespace=first.namespace,
            name=first.name,
        )
        message = f"{subject(each.objects)}: {each.cause}"
        hint = each.remedy or each.command
        result.findings.append(Finding(each.check.severity, each.check.code, message, hint=hint))
        found.results.append(result)
    return found
