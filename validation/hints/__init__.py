"""Hints: how to mend what the server refuses, for the mistakes that people really make.

Each is a row of a table (:class:`validation.hints.table.Hint`): a condition and a text.  The first that applies wins.
"""

from __future__ import annotations

from validation.hints import fields, gates, pods, selectors, values, versions
from validation.hints.situation import Situation
from validation.hints.table import Hint

HINTS: tuple[Hint, ...] = (
    *versions.HINTS,
    *selectors.HINTS,
    *pods.HINTS,
    *gates.HINTS,
    *fields.HINTS,
    *values.HINTS,
)


def hint_for(situation: Situation) -> tuple[str, str]:
    """The first hint that applies: its name and its text, or two empty strings."""
    for hint in HINTS:
        advice = hint.advice(situation)
        if advice:
            return hint.name, advice
    return "", ""
