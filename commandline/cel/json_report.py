"""The answer of ``claimcheck cel`` for programs. docs/how-to/cel.md describes the keys."""

from __future__ import annotations

from typing import Any

from claimcheck.answers.cel import COST_LIMIT, FAILED, MATCH, NO_MATCH, Evaluation, Group


def document(evaluation: Evaluation) -> dict[str, Any]:
    """The answer as plain data."""
    error = evaluation.error
    answer: dict[str, Any] = {
        "expression": evaluation.expression,
        "valid": error is None,
        "type": evaluation.type,
        "maxCost": evaluation.max_cost if evaluation.type is not None else None,
        "costLimit": evaluation.cost_limit,
    }
    if error is not None:
        answer["error"] = {
            "reason": error.kind,
            "message": error.message,
            "detail": error.detail,
            "locations": [
                {"line": line, "column": column, "message": message}
                for line, column, message in evaluation.locations
            ],
        }
        if evaluation.hint:
            answer["error"]["hint"] = evaluation.hint
    answer["warnings"] = [
        {
            "rule": remark.lint.code,
            "message": remark.message,
            "hint": remark.hint,
            "position": remark.position,
            "length": remark.length,
        }
        for remark in evaluation.remarks
    ]
    if evaluation.groups is not None:
        answer["runtimeCostLimit"] = COST_LIMIT
        answer["summary"] = {
            "devices": sum(len(group.members) for group in evaluation.groups),
            "match": evaluation.devices_with(MATCH),
            "noMatch": evaluation.devices_with(NO_MATCH),
            "failed": evaluation.devices_with(FAILED),
        }
        answer["groups"] = [_group_document(group, evaluation.derived) for group in evaluation.groups]
    return answer


def _group_document(group: Group, derived: bool) -> dict[str, Any]:
    document: dict[str, Any] = {"outcome": group.outcome}
    if group.error is not None:
        document["error"] = group.error
    elif derived:
        document["attribute"] = group.value
    if group.costs is not None:
        document["cost"] = {"min": group.costs[0], "max": group.costs[1]}
    if group.reasons:
        document["reasons"] = [
            {
                "expression": reason.expression,
                "position": reason.position,
                "outcome": reason.outcome,
                "details": list(reason.details),
            }
            for reason in group.reasons
        ]
    if group.patched:
        document["patched"] = [each._asdict() for each in group.patched]
    document["devices"] = [
        {"driver": member.driver, "pool": member.pool, "name": member.device} for member in group.members
    ]
    return document
