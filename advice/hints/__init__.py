"""Hints: how to fix what the server rejects, for the mistakes that people really make.

Each is a row of a table (:class:`advice.hints.hint.Hint`): a condition and an advice.  The first that applies wins.
The tables are only imported once there is a problem.  Where the advice is one certain change, it says so in a form that
:func:`advice.hints.changes.changed` can make.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advice.hints.hint import Advice, Hint
    from advice.hints.problem import Problem


@cache
def hints() -> tuple[Hint, ...]:
    """All hints, in the order in which they are tried."""
    from advice.hints import (
        devices,
        expressions,
        fields,
        former,
        gates,
        names,
        placeholders,
        pods,
        requests,
        required,
        selectors,
        values,
        versions,
    )

    return (
        *placeholders.HINTS,
        *former.HINTS,
        *versions.HINTS,
        *selectors.HINTS,
        *expressions.HINTS,
        *pods.HINTS,
        *gates.HINTS,
        *requests.HINTS,
        *devices.HINTS,
        *fields.HINTS,
        *required.HINTS,
        *values.HINTS,
        *names.HINTS,
    )


def hint_for(problem: Problem) -> tuple[str, Advice]:
    """The first hint that applies: its name and its advice, both empty if there is none."""
    from advice.hints.hint import NO_ADVICE

    for hint in hints():
        advice = hint.advice(problem)
        if advice.text:
            return hint.name, advice
    return "", NO_ADVICE
