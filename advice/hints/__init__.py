"""Hints: how to fix what the server rejects, for the mistakes that people really make.

Each is a row of a table (:class:`advice.hints.hint.Hint`): a condition and a text.  The first that applies wins.
The tables are only imported once there is a problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advice.hints.hint import Hint
    from advice.hints.problem import Problem


def hints() -> tuple[Hint, ...]:
    """All hints, in the order in which they are tried."""
    from advice.hints import fields, gates, placeholders, pods, selectors, values, versions

    return (
        *placeholders.HINTS,
        *versions.HINTS,
        *selectors.HINTS,
        *pods.HINTS,
        *gates.HINTS,
        *fields.HINTS,
        *values.HINTS,
    )


def hint_for(problem: Problem) -> tuple[str, str]:
    """The first hint that applies: its name and its text, or two empty strings."""
    for hint in hints():
        advice = hint.advice(problem)
        if advice:
            return hint.name, advice
    return "", ""
