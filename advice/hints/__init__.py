"""Hints: how to fix what the server rejects, for the mistakes that people really make.

Each is a row of a table (:class:`advice.hints.hint.Hint`): a condition and an advice.  The first that applies wins.
The tables are only imported once there is a problem that they may be about.  Where the advice is one certain change, it says so in
a form that :func:`advice.hints.hint.changed` can make.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from resourceapi.field_errors import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_FOUND,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
)
from validation.requests import (
    FIELD_CONFLICT,
    GENERATED_NAME,
    NOT_SERVED,
    PATCH_REFUSED,
    SERVER_WARNING,
    UNKNOWN_FIELD,
    WRONG_TYPE,
)

if TYPE_CHECKING:
    from advice.hints.hint import Advice, Hint, Problem

#: The modules with hints, in the order in which they are tried, with the rules that their hints are for.
MODULES = {
    "placeholders": (WRONG_TYPE, INVALID, NOT_SUPPORTED, TOO_LONG, NOT_SERVED, UNKNOWN_FIELD),
    "applying": (FIELD_CONFLICT, GENERATED_NAME, PATCH_REFUSED, TOO_LONG, WRONG_TYPE),
    "former": (NOT_SERVED, UNKNOWN_FIELD),
    "versions": (NOT_SERVED, SERVER_WARNING),
    "expressions": (UNKNOWN_FIELD, WRONG_TYPE, INVALID, FORBIDDEN),
    "pods": (UNKNOWN_FIELD, WRONG_TYPE, INVALID, NOT_FOUND, REQUIRED, DUPLICATE),
    "gates": (REQUIRED, INVALID, NOT_FOUND, NOT_SUPPORTED),
    "requests": (UNKNOWN_FIELD, REQUIRED, INVALID),
    "devices": (UNKNOWN_FIELD, WRONG_TYPE, REQUIRED, INVALID),
    "fields": (UNKNOWN_FIELD,),
    "values": (WRONG_TYPE, REQUIRED, INVALID, FORBIDDEN, TOO_MANY),
    "names": (INVALID, REQUIRED, NOT_SUPPORTED, DUPLICATE),
}

#: The same for the release of classic DRA.
CLASSIC_MODULES = {
    "placeholders": MODULES["placeholders"],
    "classic": (NOT_SERVED, UNKNOWN_FIELD, REQUIRED, INVALID),
    **{name: MODULES[name] for name in ("applying", "versions", "pods", "fields", "values", "names")},
}


@lru_cache(maxsize=256)  # a file's errors, of which there may be 200,000, are at few places
def hints_about(rule: str, place: str, *, classic: bool = False) -> tuple[Hint, ...]:
    """The hints for a rule at a place (:attr:`Problem.place`), in the order in which they are tried.

    :param classic: those for the release of classic DRA.
    """
    from importlib import import_module

    return tuple(
        hint
        for module, rules in (CLASSIC_MODULES if classic else MODULES).items()
        if rule in rules
        for hint in import_module(f"advice.hints.{module}").HINTS
        if hint.is_for(rule, place)
    )


def hint_for(problem: Problem) -> tuple[str, Advice]:
    """The first hint that applies: its name and its advice, both empty if there is none."""
    from advice.hints.hint import NO_ADVICE

    for hint in hints_about(problem.rule, problem.place, classic=problem.profile.is_classic):
        advice = hint.advice(problem)
        if advice.text:
            return hint.name, advice
    return "", NO_ADVICE
