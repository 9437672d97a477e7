"""The answer of ``claimcheck cel``: for people the verdict, and the results on devices, group by group; for programs a document.

docs/how-to/cel.md describes the keys of the document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from claimcheck.answers.cel import COST_LIMIT, FAILED, MATCH, NO_MATCH, Evaluation, Group
from deviceselectors.cost import UNLIMITED
from resourceapi.phrases import number

#: Groups, and devices of a group, that are listed; of the others only the number is shown.
MAX_GROUPS, MAX_DEVICES = 20, 4


def lines(evaluation: Evaluation) -> Iterator[str]:
    """The report line by line."""
    if evaluation.type is not None:
        yield f"type: {evaluation.type}"
        cost = "unbounded" if evaluation.max_cost == UNLIMITED else f"{evaluation.max_cost:,}"
        yield f"estimated cost: {cost} (limit {evaluation.cost_limit:,})"
    if evaluation.error is not None:
        # The server's message without the expression, which the user has just typed.
        yield from f"error: {evaluation.error.detail}".split("\n")
    if evaluation.hint:
        yield f"hint: {evaluation.hint}"
    for remark in evaluation.remarks:
        yield f"warning[{remark.lint.code}]: {remark.message}"
        yield f"hint: {remark.hint}"
    if evaluation.groups is None:
        return
    yield ""
    yield _summary(evaluation)
    yield from (f"hint: {mistake}" for mistake in evaluation.mistakes)
    for group in evaluation.groups[:MAX_GROUPS]:
        yield ""
        yield from _group(group, derived=evaluation.derived)
    if others := evaluation.groups[MAX_GROUPS:]:
        yield ""
        devices = sum(len(group.members) for group in others)
        yield f"{number(len(others), 'more group')} with {number(devices, 'device')}"


def _summary(evaluation: Evaluation) -> str:
    """``3 devices: 1 matches, 2 do not match, 0 fail``."""
    matching, different, failing = (evaluation.devices_with(outcome) for outcome in (MATCH, NO_MATCH, FAILED))
    if evaluation.derived:
        parts = [_counted(matching, "gives a value", "give a value")]
    else:
        parts = [
            _counted(matching, "matches", "match"),
            _counted(different, "does not match", "do not match"),
        ]
    parts.append(_counted(failing, "fails", "fail"))
    return f"{number(matching + different + failing, 'device')}: {', '.join(parts)}"


def _counted(count: int, singular: str, plural: str) -> str:
    return f"{count:,} {singular if count == 1 else plural}"


def _group(group: Group, *, derived: bool) -> Iterator[str]:
    outcome = (
        json.dumps(group.value, ensure_ascii=False) if derived and group.error is None else group.outcome
    )
    names = ", ".join(map(str, group.members[:MAX_DEVICES]))
    if len(group.members) > MAX_DEVICES:
        names += f", … ({number(len(group.members), 'device')})"
    yield f"{outcome}{_cost(group)}: {names}"
    if group.error is not None:
        yield f"    {group.error}"
    for reason in group.reasons:
        if reason.details or len(group.reasons) > 1 or group.error is None:
            yield f"    {reason}"
    if group.patched:
        from allocator.explaining import in_words

        yield from (f"    {line}" for line in in_words.patched(group.patched))


def _cost(group: Group) -> str:
    if group.costs is None:
        return ""
    least, greatest = group.costs
    return f", cost {least:,}" if least == greatest else f", cost {least:,} to {greatest:,}"


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
        answer["mistakes"] = [{"text": each.text, "meant": each.meant} for each in evaluation.mistakes]
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
