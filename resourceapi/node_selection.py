"""Which nodes a node selector selects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from resourceapi.go_text import quote
from resourceapi.objects import Object

if TYPE_CHECKING:
    from resourceapi.records.nodes import Node

INT64_DIGITS = 19


def selects(selector: Object, node: Node) -> bool:
    """Whether any term selects the node; a term without requirements selects none."""
    labels, names = node.labels, {"metadata.name": node.name}
    for term in selector.get("nodeSelectorTerms") or ():
        expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
        if (expressions or fields) and _satisfy(expressions, labels) and _satisfy(fields, names):
            return True
    return False


def wrong_bounds(selector: Object) -> Iterator[str]:
    """What is wrong with the bounds of `Gt` and `Lt`, which no rule of the API wants to be numbers."""
    for index, term in enumerate(selector.get("nodeSelectorTerms") or ()):
        for number, requirement in enumerate(term.get("matchExpressions") or ()):
            if requirement.get("operator") not in ("Gt", "Lt"):
                continue
            for place, bound in enumerate(requirement.get("values") or ()):
                if _whole_number(bound) is None:
                    path = f"nodeSelectorTerms[{index}].matchExpressions[{number}].values[{place}]"
                    why = "for 'Gt', 'Lt' operators, the value must be an integer"
                    yield f"{path}: Invalid value: {quote(bound)}: {why}"


def _satisfy(requirements: Iterable[Object], values: Mapping[str, str]) -> bool:
    for requirement in requirements:  # noqa: SIM110 - there may be thousands, and a generator takes as long again
        if not _satisfies(requirement, values):
            return False
    return True


def _satisfies(requirement: Object, values: Mapping[str, str]) -> bool:
    key, operator, wanted = (
        requirement.get("key", ""),
        requirement.get("operator"),
        requirement.get("values") or [],
    )
    value = values.get(key)
    if operator == "In":
        return value in wanted
    if operator == "NotIn":
        return value not in wanted
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    return _compares(operator, value, wanted)


def _compares(operator: str | None, value: str | None, wanted: list[str]) -> bool:
    """`Gt` and `Lt` compare whole numbers of 64 bits; what is none satisfies neither."""
    if value is None or len(wanted) != 1:
        return False
    number, bound = _whole_number(value), _whole_number(wanted[0])
    if number is None or bound is None:
        return False
    return number > bound if operator == "Gt" else operator == "Lt" and number < bound


def _whole_number(text: str) -> int | None:
    """The number in a text as Go reads it: digits, perhaps after a sign, in 64 bits."""
    digits = text[1:] if text.startswith(("+", "-")) else text
    if not (digits.isascii() and digits.isdecimal()) or len(digits.lstrip("0")) > INT64_DIGITS:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
