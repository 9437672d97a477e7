"""The answer of ``claimcheck doctor``: text for people, plain data, and findings for the formats of ``validate``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from advice.findings import ERROR, NOTE, WARNING, Finding, Result
from claimcheck.answers.doctor.examination import Examination
from claimcheck.answers.doctor.examined import Affected, Diagnosis
from claimcheck.answers.outcome import Outcome
from commandline.reports.writing import failure_documents, failure_lines
from documents.manifest import Unwritten
from resourceapi.phrases import number, plural

#: Objects that are named for a finding, and findings of one severity in the text.
MAX_OBJECTS, MAX_FINDINGS = 3, 20


def lines(answer: Examination) -> Iterator[str]:
    """A paragraph for each cause, worst first."""
    counts = Counter[str]()
    for each in answer.diagnoses:
        counts[each.check.severity] += 1
        if counts[each.check.severity] <= MAX_FINDINGS:
            yield from _paragraph(each)
            yield ""
    yield from failure_lines(answer.failures)
    for what in answer.unfinished:
        yield f"There was no time to look at all {what} (--timeout)."
    yield from answer.unread
    yield _summary(answer, counts)
    for severity, count in counts.items():
        if count > MAX_FINDINGS:
            yield f"{number(count - MAX_FINDINGS, f'more {severity}')} (see -o json)"


def _paragraph(diagnosis: Diagnosis) -> Iterator[str]:
    check, devices = diagnosis.check, diagnosis.devices
    yield f"{check.severity}[{check.code}]: {_subject(diagnosis.objects)}: {diagnosis.cause}"
    if devices:
        yield f"  nobody else can have {'this device' if devices == 1 else f'these {devices:,} devices'}"
    if diagnosis.remedy:
        yield f"  {diagnosis.remedy}"
    yield f"  more: {diagnosis.command or f'claimcheck lint {check.code}'}"


def _subject(objects: Sequence[Affected]) -> str:
    """`ResourceClaim team/a`, `Pods team/a, team/b, team/c and 9 others`."""
    kind = objects[0].kind if len(objects) == 1 else plural(objects[0].kind)
    more = f" and {number(len(objects) - MAX_OBJECTS, 'other')}" if len(objects) > MAX_OBJECTS else ""
    return f"{kind} {', '.join(each.full_name for each in objects[:MAX_OBJECTS])}{more}"


def _summary(answer: Examination, counts: Counter[str]) -> str:
    if not answer.diagnoses:
        return "nothing wrong was found"
    parts = [number(counts[each], each) for each in (ERROR, WARNING, NOTE) if counts[each]]
    return f"{', '.join(parts)}; claimcheck lint CODE says what one means"


def document(answer: Examination) -> dict[str, Any]:
    """The answer as plain data; docs/how-to/doctor.md has the keys."""
    return {
        "findings": [
            {
                "code": each.check.code,
                "name": each.check.name,
                "severity": each.check.severity,
                "cause": each.cause,
                "objects": [_object(affected) for affected in each.objects],
                "devices": each.devices,
                "remedy": each.remedy,
                "command": each.command,
            }
            for each in answer.diagnoses
        ],
        "unfinished": answer.unfinished,
        "unread": answer.unread,
        "failures": failure_documents(answer.failures),
    }


def _object(affected: Affected) -> dict[str, str]:
    named = {"kind": affected.kind, "namespace": affected.namespace, "name": affected.name}
    return {key: value for key, value in named.items() if value}


def outcome(answer: Examination, source: str) -> Outcome:
    """The findings as those of ``validate``, each about the first object that has it.

    :param source: the file or directory with the objects; empty for a live cluster.
    """
    found = Outcome()
    found.failures = answer.failures
    for each in answer.diagnoses:
        first = each.objects[0]
        result = Result(
            source or "cluster",
            1,
            Unwritten(source, {}),
            kind=first.kind,
            namespace=first.namespace,
            name=first.name,
        )
        message = f"{_subject(each.objects)}: {each.cause}"
        hint = each.remedy or each.command
        result.findings.append(Finding(each.check.severity, each.check.code, message, hint=hint))
        found.results.append(result)
    return found
