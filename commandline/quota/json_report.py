"""The answer of ``claimcheck quota`` for programs: ``objects``, ``quotas`` and ``failures``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from commandline.reports.writing import failure_documents
from quota import amounts
from quota.account import PER_CLAIM
from resourceapi.quantity import ZERO

if TYPE_CHECKING:
    from claimcheck.answers.quota import Answer
    from quota.account import Statement
    from quota.resource_quotas import ResourceQuota
    from resourceapi.quantity import Amounts


def document(answer: Answer) -> dict[str, Any]:
    """The answer as plain data."""
    account = answer.account
    return {
        "objects": [_statement(statement) for statement in account.statements],
        "quotas": [_quota(*entry) for entry in account.quotas()],
        "failures": failure_documents(answer.failures),
    }


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
