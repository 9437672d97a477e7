"""Hints for values of the wrong type."""

from __future__ import annotations

import re
from typing import Any

from advice.hints import schema_walk
from advice.hints.hint import Advice, Hint
from advice.hints.names import ATTRIBUTE_NAME
from advice.hints.problem import Problem
from advice.hints.required import wanted_at
from advice.hints.snippet import scalar, yaml
from resourceapi.manifests import MISSING
from resourceapi.quantity import QuantityError, parse
from resourceapi.schema import Type
from validation.rule_names import WRONG_TYPE
from validation.version_texts import as_semantic_version

WRONG = (WRONG_TYPE,)
NAMES_WITH_DOMAIN = r"(matchAttribute|distinctAttribute|extendedResourceName)$"
_NUMBERS = ("int64", "int32")


def _match_attribute_list(problem: Problem) -> str | Advice:
    names, constraint = problem.value, problem.parent
    if not isinstance(names, list) or not names or not isinstance(constraint, dict):
        return ""
    if len(names) == 1:
        return Advice(
            f"write one name, not a list: `{problem.key}: {scalar(names[0])}`", (problem.path, names[0])
        )
    constraints = yaml([{**constraint, problem.key: name} for name in names])
    return f"write a constraint for each attribute; a constraint has one `{problem.key}`:\n{constraints}"


def _ellipsis(problem: Problem) -> str | Advice:
    """`- ...` for what a text leaves out."""
    value = problem.value[0] if isinstance(problem.value, list) and problem.value else problem.value
    if value not in ("...", "…"):
        return ""
    if isinstance(problem.path[-1], int) or isinstance(problem.value, list):
        return "replace the placeholder `...` with real entries, or remove its line"
    return f"replace the placeholder `...` with the value of `{problem.key}`"


def _quotes(problem: Problem) -> str | Advice:
    """Text where the API wants a number or boolean, or the other way round."""
    wanted, value = _wanted(problem), problem.value
    if wanted == "string" and isinstance(value, (bool, int, float)):
        if values := _enumeration(problem):
            return "write one of " + ", ".join(f"`{name}`" for name in values)
        if re.search(NAMES_WITH_DOMAIN, problem.place):
            return wanted_at(problem)
        text = problem.written.strip()
        text = text if re.fullmatch(r"[\w.+-]+", text) else scalar(value)
        if problem.place.endswith("{}.version"):
            text = as_semantic_version(text) or text
        return Advice(
            f"quote the value, which YAML reads as a {_yaml_type(value)}: `{_line(problem, _quoted(text))}`",
            (problem.path, text),
        )
    if wanted in (*_NUMBERS, "bool") and isinstance(value, str):
        name = "a boolean" if wanted == "bool" else "an integer"
        meant = _meant(value.strip(), wanted)
        if meant is None:
            return f"write {name} here"
        return Advice(
            f"write {name} without quotes: `{_line(problem, scalar(meant))}`", (problem.path, meant)
        )
    return ""


def _meant(text: str, wanted: str) -> bool | int | None:
    """The boolean or integer that a text in quotes stands for."""
    if wanted == "bool":
        return {"true": True, "false": False, "yes": True, "no": False}.get(text.lower())
    return int(text) if re.fullmatch(r"-?\d{1,18}", text, re.ASCII) else None


def _quoted(text: str) -> str:
    return f'"{text}"'


def _line(problem: Problem, value: str) -> str:
    """A value as its line has it: behind its key, or as an entry of a list."""
    return f"- {value}" if isinstance(problem.path[-1], int) else f"{problem.key}: {value}"


def _shape(problem: Problem) -> str | Advice:
    """A list instead of a mapping and so on."""
    wanted, value = _wanted(problem), problem.value
    if wanted == "list" and isinstance(value, (dict, str)):
        advice = "write a list here, with a `-` before each entry"
        fits = isinstance(value, dict) == _lists_structs(problem)
        return Advice(advice, (problem.path, [value])) if fits else advice
    if wanted in ("struct", "map") and isinstance(value, list):
        advice = "write one mapping here, not a list; remove the `-`"
        one = len(value) == 1 and isinstance(value[0], dict)
        return Advice(advice, (problem.path, value[0])) if one else advice
    if wanted in ("struct", "map") and value is not None:
        return "write a mapping here, its keys indented on the next lines"
    if wanted == "string" and isinstance(value, (dict, list)):
        return _text_wanted(problem, value)
    if wanted in (*_NUMBERS, "bool") and value is not MISSING:
        return "write an integer here" if wanted in _NUMBERS else "write `true` or `false` here"
    return ""


def _text_wanted(problem: Problem, value: Any) -> str | Advice:
    """A list or mapping where the API wants a text."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        line = _line(problem, scalar(value[0]))
        return Advice(f"write one text, not a list: `{line}`", (problem.path, value[0]))
    if isinstance(value, dict) and set(value) == {"name"} and isinstance(value["name"], str):
        return Advice(
            f"write only the name: `{_line(problem, scalar(value['name']))}`", (problem.path, value["name"])
        )
    return f"write a text here, not a {'list' if isinstance(value, list) else 'mapping'}"


def _lists_structs(problem: Problem) -> bool:
    type = _type(problem)
    return type is not None and type.element is not None and type.element.kind in ("struct", "map")


def _type(problem: Problem) -> Type | None:
    if problem.schema is None:
        return None
    return schema_walk.type_at(problem.schema, problem.kind, problem.path)


def _wanted(problem: Problem) -> str:
    type = _type(problem)
    if type is None:  # of a kind without a schema, kubectl reads the metadata
        return "string" if problem.message.endswith(" of type string") else ""
    return type.kind


def _enumeration(problem: Problem) -> tuple[str, ...]:
    type = _type(problem)
    return type.enum if type is not None else ()


def _yaml_type(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "number"


_SOME_QUANTITY = "write a quantity such as `40Gi`, `500m` or `2`"


def _quantity(problem: Problem) -> str | Advice:
    value = problem.value
    slip = (
        re.fullmatch(r"\s*([+-]?[0-9.]+)\s*([kmgtpe]i?)(b?)(?:ytes)?\s*", value, re.IGNORECASE)
        if isinstance(value, str)
        else None
    )
    if slip is None:
        return _SOME_QUANTITY
    number, unit = slip[1], slip[2].capitalize()
    if unit == "K" or slip[2] + slip[3] == "m":
        unit = unit.lower()
    try:
        parse(number + unit)
    except QuantityError:
        return _SOME_QUANTITY
    return Advice(
        f"write `{number}{unit}`: units are `Ki`, `Mi`, `Gi` or `k`, `M`, `G`, without a `B`",
        (problem.path, f"{number}{unit}"),
    )


HINTS = (
    Hint("match-attribute-list", WRONG, _match_attribute_list, place=ATTRIBUTE_NAME),
    Hint("ellipsis", WRONG, _ellipsis),
    Hint("quantity", WRONG, _quantity, message="quantit"),
    Hint("quotes", WRONG, _quotes),
    Hint("shape", WRONG, _shape),
)
