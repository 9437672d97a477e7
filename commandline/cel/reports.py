"""The reports of ``claimcheck cel``: text for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from commandline.cel.evaluation import COST_LIMIT, FAILED, MATCH, NO_MATCH, Group, Judgement
from commandline.reports import escaping
from deviceselectors.cost import UNLIMITED

#: Beyond these, groups of devices and the devices of a group are only counted.
_MOST_GROUPS = 20
_MOST_MEMBERS = 4


def write_text(judgement: Judgement, stream: TextIO) -> None:
    """Write the verdict and, group by group, what came of the devices."""
    escaping.write_lines(_lines(judgement), stream)


def _lines(judgement: Judgement) -> Iterator[str]:
    if judgement.type is not None:
        yield f"type: {judgement.type}"
        cost = "no bound" if judgement.max_cost == UNLIMITED else f"{judgement.max_cost:,}"
        yield f"estimated cost: {cost} (limit {judgement.cost_limit:,})"
    if judgement.problem is not None:
        yield from f"error: {_reason(judgement)}".split("\n")  # with the place under the expression
    if judgement.hint:
        yield f"hint: {judgement.hint}"
    for remark in judgement.remarks:
        yield f"warning[{remark.lint.code}]: {remark.message}"
        yield f"hint: {remark.hint}"
    if judgement.groups is None:
        return
    yield ""
    yield _summary(judgement)
    for group in judgement.groups[:_MOST_GROUPS]:
        yield ""
        yield from _group(group, derived=judgement.derived)
    if len(judgement.groups) > _MOST_GROUPS:
        rest = judgement.groups[_MOST_GROUPS:]
        devices = sum(len(group.members) for group in rest)
        yield ""
        yield f"{len(rest):,} more groups with {_number(devices, 'device')}"


def _reason(judgement: Judgement) -> str:
    """The server's text without the expression itself, which the user has just typed."""
    assert judgement.problem is not None
    return judgement.problem.detail


def _summary(judgement: Judgement) -> str:
    total = sum(len(group.members) for group in judgement.groups or ())
    made = "give a value" if judgement.derived else "match"
    parts = [f"{judgement.count(MATCH):,} {made}"]
    if not judgement.derived:
        parts.append(f"{judgement.count(NO_MATCH):,} do not")
    parts.append(f"{judgement.count(FAILED):,} fail")
    return f"{_number(total, 'device')}: {', '.join(parts)}"


def _group(group: Group, *, derived: bool) -> Iterator[str]:
    outcome = (
        json.dumps(group.value, ensure_ascii=False) if derived and group.error is None else group.outcome
    )
    names = ", ".join(map(str, group.members[:_MOST_MEMBERS]))
    if len(group.members) > _MOST_MEMBERS:
        names += f", … ({_number(len(group.members), 'device')})"
    yield f"{outcome}{_cost(group)}: {names}"
    if group.error is not None:
        yield f"    {group.error}"
    for reason in group.reasons:
        if reason.details or len(group.reasons) > 1 or group.error is None:
            yield f"    {reason}"


def _cost(group: Group) -> str:
    if group.costs is None:
        return ""
    least, greatest = group.costs
    return f", cost {least:,}" if least == greatest else f", cost {least:,} to {greatest:,}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def write_json(judgement: Judgement, stream: TextIO) -> None:
    """Write all there is to say as one JSON object."""
    escaping.write_json(_document(judgement), stream)


def _document(judgement: Judgement) -> dict[str, Any]:
    problem = judgement.problem
    document: dict[str, Any] = {
        "expression": judgement.expression,
        "valid": problem is None,
        "type": judgement.type,
        "maxCost": judgement.max_cost if judgement.type is not None else None,
        "costLimit": judgement.cost_limit,
    }
    if problem is not None:
        document["error"] = {
            "reason": problem.kind,
            "message": problem.message,
            "detail": problem.detail,
            "locations": [
                {"line": line, "column": column, "message": message}
                for line, column, message in judgement.locations
            ],
        }
        if judgement.hint:
            document["error"]["hint"] = judgement.hint
    document["warnings"] = [
        {
            "rule": remark.lint.code,
            "message": remark.message,
            "hint": remark.hint,
            "position": remark.position,
            "length": remark.length,
        }
        for remark in judgement.remarks
    ]
    if judgement.groups is not None:
        document["runtimeCostLimit"] = COST_LIMIT
        document["summary"] = {
            "devices": sum(len(group.members) for group in judgement.groups),
            "match": judgement.count(MATCH),
            "noMatch": judgement.count(NO_MATCH),
            "failed": judgement.count(FAILED),
        }
        document["groups"] = [_group_document(group, judgement.derived) for group in judgement.groups]
    return document


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
    document["devices"] = [
        {"driver": member.driver, "pool": member.pool, "name": member.name} for member in group.members
    ]
    return document
