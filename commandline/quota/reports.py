"""The account as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

from commandline.quota.account import PER_CLAIM, REFUSED
from commandline.reports import escaping
from commandline.reports.text import number
from quota import amounts
from quota.amounts import Amounts
from resourceapi.model.claims import ALL, EXACT_COUNT
from resourceapi.quantity import ZERO

if TYPE_CHECKING:
    from commandline.quota.account import Account, Statement
    from quota.claims import Demand
    from quota.resource_quotas import ResourceQuota

_SUBJECTS = {"ResourceClaim": "claim", "ResourceClaimTemplate": "template"}


def write_text(account: Account, stream: TextIO) -> None:
    """A paragraph for each object and each quota, and what could not be done."""
    for statement in account.statements:
        escaping.write_lines(_paragraph(statement), stream)
        stream.write("\n")
    for namespace, quota, before in _quotas(account):
        escaping.write_lines(_table(namespace, quota, before), stream)
        stream.write("\n")
    failures = account.inventory.failures
    escaping.write_lines((f"{failure.file}: error: {failure.message}" for failure in failures), stream)
    refused = sum(1 for statement in account.statements if statement.problems)
    objects = number(len(account.statements), "object")
    escaping.write_lines([f"{objects}: {refused} refused{_unlimited(account)}"], stream)


def _unlimited(account: Account) -> str:
    """Where nothing is limited, so that nobody takes "fits" for more than it is."""
    limited = {namespace for namespace, _, _ in _quotas(account)}
    if not limited:
        return "; no ResourceQuota was given: name some with --quota FILE or --inventory DIR"
    without = sorted({statement.namespace for statement in account.statements} - limited)
    return f"; no ResourceQuota in namespace {', '.join(without)}" if without else ""


def write_json(account: Account, stream: TextIO) -> None:
    """The same as one JSON object: ``objects``, ``quotas``, ``failures``."""
    document = {
        "objects": [_statement(statement) for statement in account.statements],
        "quotas": [_quota(*entry) for entry in _quotas(account)],
        "failures": [
            {"file": failure.file, "message": failure.message} for failure in account.inventory.failures
        ],
    }
    escaping.write_json(document, stream)


def _quotas(account: Account) -> Iterator[tuple[str, ResourceQuota, Amounts]]:
    for namespace, content in account.inventory.namespaces():
        for quota in content.quotas:
            yield namespace, quota, account.inventory.before.get((namespace, quota.name), {})


def _paragraph(statement: Statement) -> Iterator[str]:
    subject = _SUBJECTS.get(statement.kind, statement.kind)
    place = f"{statement.file}:{statement.line}"
    yield f"{subject} {statement.namespace}/{statement.name} ({place}): {_verdict(statement)}"
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
        return statement.verdict
    made = "a claim" if statement.copies == 1 else f"{statement.copies} claims"
    text = f"{made} from template {statement.template}: {statement.verdict}"
    if statement.verdict == REFUSED and statement.copies > 1:
        text += f", only {statement.fitting} of {statement.copies} do"
    return text


def _demand(demand: Demand) -> str:
    text = f"class {demand.device_class}, {demand.mode or 'no mode'}"
    if demand.mode == EXACT_COUNT:
        text += f" {demand.devices}"
    elif demand.mode == ALL:
        text += f": {demand.devices}, the most that a claim can be given"
    else:
        return text + ": counts nothing, the mode is not known"
    if demand.counted:
        return text + (
            ": counts, the most of this class in the request" if demand.alternative else ": counts"
        )
    return text + ": another alternative of this class counts"


def _table(namespace: str, quota: ResourceQuota, before: Amounts) -> list[str]:
    rows = [("resource", "used before", "now", "limit", "left")]
    for name in sorted(quota.hard):
        used, limit = quota.used.get(name, ZERO), quota.hard[name]
        rows.append((name, str(before.get(name, ZERO)), str(used), str(limit), str(limit.sub(used))))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [f"quota {namespace}/{quota.name}"]
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  " + "  ".join(cells))
    return lines


def _statement(statement: Statement) -> dict[str, Any]:
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


def _quota(namespace: str, quota: ResourceQuota, before: Amounts) -> dict[str, Any]:
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
