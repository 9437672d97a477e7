"""The answer of ``claimcheck cel`` for people: the verdict, and the results on devices, group by group."""

from __future__ import annotations

import json
from collections.abc import Iterator

from claimcheck.answers.cel import FAILED, MATCH, NO_MATCH, Evaluation, Group
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
