"""The answer of ``claimcheck quota``: for people a paragraph for each object and a table for each quota, for programs a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from commandline.reports.escaping import place
from commandline.reports.writing import failure_documents, failure_lines, table
from quota import amounts
from quota.account import PER_CLAIM, REFUSED, STORED
from resourceapi.model.claims import ALL, EXACT_COUNT
from resourceapi.phrases import number
from resourceapi.quantity import ZERO

if TYPE_CHECKING:
    from claimcheck.answers.quota import Answer
    from quota.account import Statement
    from quota.claims import Demand
    from quota.resource_quotas import ResourceQuota
    from resourceapi.quantity import Amounts


_SUBJECTS = {"ResourceClaim": "claim", "ResourceClaimTemplate": "template"}
_VERDICTS = {STORED: "already exists"}


def lines(answer: Answer) -> Iterator[str]:
    """The report line by line."""
    account = answer.account
    for statement in account.statements:
        yield from _paragraph(statement)
        yield ""
    for namespace, quota, before in account.quotas():
        yield from _quota(namespace, quota, before)
        yield ""
    yield from failure_lines(answer.failures)
    refused = sum(bool(statement.problems) for statement in account.statements)
    yield f"{number(len(account.statements), 'object')}: {refused} refused{_unlimited(answer)}"


def _unlimited(answer: Answer) -> str:
    """Which namespaces have no quota, as "fits" then means little."""
    account = answer.account
    limited = {namespace for namespace, _, _ in account.quotas()}
    if not limited and not answer.is_live:
        return "; no ResourceQuota was given: use --quota FILE, --inventory DIR or --live"
    without = sorted({statement.namespace for statement in account.statements} - limited)
    return f"; no ResourceQuota in namespace {', '.join(without)}" if without else ""


def _paragraph(statement: Statement) -> Iterator[str]:
    subject = _SUBJECTS.get(statement.kind, statement.kind)
    where = place(statement.file, statement.line)
    yield f"{subject} {statement.namespace}/{statement.name} ({where}): {_verdict(statement)}"
    width = max((len(demand.name) for demand in statement.demands), default=0)
    for demand in statement.demands:
        yield f"  {demand.name.ljust(width)}  {_demand(demand)}"
    if statement.demands:
        total = ", ".join(f"{name} {number}" for name, number in sorted(statement.devices.items()))
        yield f"  counts {total or 'no devices'}"
    for problem in statement.problems:
        yield f"  error: {problem}"


def _verdict(statement: Statement) -> str:
    if not statement.template:
        return _VERDICTS.get(statement.verdict, statement.verdict)
    made = "a claim" if statement.copies == 1 else f"{statement.copies} claims"
    text = f"{made} from template {statement.template}: {statement.verdict}"
    if statement.verdict == REFUSED and statement.copies > 1:
        text += f", only {statement.fitting} of {statement.copies} would"
    return text


def _demand(demand: Demand) -> str:
    text = f"class {demand.device_class}, {demand.mode or 'no mode'}"
    if demand.mode == EXACT_COUNT:
        text += f" {demand.devices}"
    elif demand.mode == ALL:
        text += f": {demand.devices}, the maximum per claim"
    else:
        return text + ": counts nothing, the allocation mode is unknown"
    if demand.counted:
        return text + (
            ": counts, the largest number of this class in the request" if demand.alternative else ": counts"
        )
    return text + ": does not count, another alternative of this class does"


def _quota(namespace: str, quota: ResourceQuota, before: Amounts) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("resource", "used before", "now", "limit", "left")]
    for name, limit in sorted(quota.hard.items()):
        used = quota.used.get(name, ZERO)
        rows.append((name, *map(str, (before.get(name, ZERO), used, limit, limit.sub(used)))))
    yield f"quota {namespace}/{quota.name}"
    yield from table(rows)


def document(answer: Answer) -> dict[str, Any]:
    """The answer as plain data."""
    account = answer.account
    return {
        "objects": [_statement_document(statement) for statement in account.statements],
        "quotas": [_quota_document(*entry) for entry in account.quotas()],
        "failures": failure_documents(answer.failures),
    }


def _statement_document(statement: Statement) -> dict[str, Any]:
    document: dict[str, Any] = {
        "file": statement.file,
        "line": statement.line,
        "kind": statement.kind,
        "namespace": statement.namespace,
        "name": statement.name,
        "verdict": statement.verdict,
        "problems": statement.problems,
        "requests": [
            {
                "request": demand.request,
                **({"alternative": demand.alternative} if demand.alternative else {}),
                "deviceClass": demand.device_class,
                "allocationMode": demand.mode,
                "devices": demand.devices,
                "counted": demand.counted,
            }
            for demand in statement.demands
        ],
        "devices": statement.devices,
    }
    if statement.template:
        document.update(template=statement.template, claims=statement.copies, fitting=statement.fitting)
    if statement.verdict != PER_CLAIM:
        document["usage"] = amounts.written(statement.usage)
    return document


def _quota_document(namespace: str, quota: ResourceQuota, before: Amounts) -> dict[str, Any]:
    return {
        "namespace": namespace,
        "name": quota.name,
        "resources": {
            name: {
                "usedBefore": str(before.get(name, ZERO)),
                "used": str(quota.used.get(name, ZERO)),
                "limit": str(limit),
                "left": str(limit.sub(quota.used.get(name, ZERO))),
            }
            for name, limit in sorted(quota.hard.items())
        },
    }
