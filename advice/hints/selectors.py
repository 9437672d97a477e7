"""Hints for the shape of selectors: where the CEL expression goes."""

from __future__ import annotations

import re
from typing import Any

from advice.hints.changes import renamed
from advice.hints.hint import Advice, Hint
from advice.hints.problem import Problem
from advice.hints.snippet import yaml
from resourceapi.field_errors import INVALID
from resourceapi.manifests import value_at
from validation.rule_names import UNKNOWN_FIELD, WRONG_TYPE

SELECTOR = r"selectors\[\]"


def _expression_beside_cel(problem: Problem) -> str | Advice:
    selector = problem.parent
    cel = selector.get("cel") if isinstance(selector, dict) else None
    expression = value_at(selector, ("expression",))
    if (isinstance(cel, dict) and "expression" in cel) or not isinstance(expression, str):
        return "move `expression` under `cel`"
    fixed = {"cel": {"expression": expression}}
    return Advice(
        "indent `expression` so that it is under `cel`:\n" + yaml([fixed]), (problem.path[:-1], fixed)
    )


def _rest_of_an_expression(problem: Problem) -> str:
    """`{expression: a, b}`: the comma ends the expression, and the rest is a key without a value, which kubectl drops."""
    if not isinstance(value_at(problem.parent, ("expression",)), str):
        return ""
    rest = [key for key, value in problem.parent.items() if value is None and not re.fullmatch(r"\w+", key)]
    if not rest or problem.key not in ("expression", *rest):
        return ""
    return "put the expression in quotes, or on lines of its own after `|-`: between braces, YAML ends a value at a comma"


def _other_key_under_cel(problem: Problem) -> str | Advice:
    """`matchExpressions:` and the like under `cel`, as selectors of labels and drafts of the API have them."""
    cel, value = problem.parent, problem.value
    if isinstance(cel, dict) and "expression" in cel:
        return f"remove `{problem.key}`: `cel` has nothing but `expression`"
    if isinstance(value, str):
        return Advice(f"write `expression` instead of `{problem.key}`", *renamed(problem, "expression"))
    joined = _joined(value)
    if not joined:
        return f"write a CEL expression in `expression` instead of `{problem.key}`"
    return Advice(
        f"write one `expression` instead of `{problem.key}`" + _as_yaml(value, joined),
        (problem.path[:-1], {"expression": joined}),
    )


def _expressions_in_a_list(problem: Problem) -> str | Advice:
    """`expression: [a, b]`."""
    joined = _joined(problem.value)
    if not joined:
        return ""
    return Advice("write one text, not a list" + _as_yaml(problem.value, joined), (problem.path, joined))


def _as_yaml(expressions: list[str], joined: str) -> str:
    conjunction = ", with `&&` between them" if len(expressions) > 1 else ""
    return f"{conjunction}:\n" + yaml({"cel": {"expression": joined}})


def _joined(expressions: Any) -> str:
    """A list of expressions as one, "" if it is none."""
    if not isinstance(expressions, list) or not all(isinstance(entry, str) for entry in expressions):
        return ""
    if len(expressions) == 1:
        return str(expressions[0])
    return " && ".join(
        f"({entry})" if "||" in entry or "?" in entry else entry.strip() for entry in expressions
    )


def _plain_cel(problem: Problem) -> str | Advice:
    value = problem.value
    if not isinstance(value, str):
        return "write the mapping of `cel` with an `expression`"
    fixed = {"expression": value}
    return Advice("put the expression under `expression`:\n" + yaml({"cel": fixed}), (problem.path, fixed))


HINTS = (
    Hint(
        "expression-beside-cel", (UNKNOWN_FIELD,), _expression_beside_cel, place=SELECTOR + r"\.expression$"
    ),
    Hint(
        "rest-of-an-expression", (UNKNOWN_FIELD, INVALID), _rest_of_an_expression, place=SELECTOR + r"\.cel\."
    ),
    Hint("other-key-under-cel", (UNKNOWN_FIELD,), _other_key_under_cel, place=SELECTOR + r"\.cel\.\w+$"),
    Hint(
        "expressions-in-a-list",
        (WRONG_TYPE,),
        _expressions_in_a_list,
        place=SELECTOR + r"\.cel\.expression(\[\])?$",
    ),
    Hint("plain-cel", (WRONG_TYPE,), _plain_cel, place=SELECTOR + r"\.cel$"),
)
