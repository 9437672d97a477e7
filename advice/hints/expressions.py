"""Hints for CEL expressions: idioms that people try and that do not work.

These look at the text only; what an expression really means is the business of the CEL compiler.
"""

from __future__ import annotations

import re

from advice.hints.hint import Hint
from advice.hints.problem import Problem
from resourceapi.field_errors import FORBIDDEN, INVALID
from resourceapi.nearness import did_you_mean

DEVICE_FIELDS = ("driver", "attributes", "capacity", "allowMultipleAllocations")
NAMES = ("device", "quantity", "semver")
# Names that the server declares if the gate is on (k8s.io/dynamic-resource-allocation, cel package).
GATED = {"allowMultipleAllocations": "DRAConsumableCapacity", "includes": "DRAListTypeAttributes"}
# A string, or what follows a quote that nothing closes: no character is looked at twice.
STRING = re.compile(r"([\"'])(?:(?!\1)[^\\]|\\.)*+(\1)?")
EXPRESSION = r"(cel|derivedAttributes\[\])\.expression$"


def _quantity_field(problem: Problem) -> str:
    """`.quantity >= …` and `.value >= …`, as if a capacity were a struct."""
    if not re.search(r"capacity\b.*\.(quantity|value)\b", _expression(problem)):
        return ""
    return 'compare the capacity itself, it is a quantity: `device.capacity["<driver>"].memory.compareTo(quantity("10Gi")) >= 0`'


def _quantity_literal(problem: Problem) -> str:
    """`80.GiB`, `80Gi` without quotes."""
    matched = re.search(r"(?<![\w\"'.])([0-9]+)\.?([KMGTPE]i)B?\b(?![\"'])", _expression(problem))
    return f'write the quantity as a string: `quantity("{matched[1]}{matched[2]}")`' if matched else ""


def _version_operator(problem: Problem) -> str:
    if not re.search(
        r"'_[<>]=?_' applied to '\((?:kubernetes\.Semver|.*, kubernetes\.Semver)", problem.message
    ):
        return ""
    return 'use `….isGreaterThan(semver("1.2.3"))`, `.isLessThan(…)` or `.compareTo(…) >= 0`: versions have no `<` and `>`'


def _quantity_operator(problem: Problem) -> str:
    if not re.search(r"[<>]=?\s*quantity\(|quantity\([^)]*\)\s*[<>]=?", _expression(problem)):
        return ""
    return 'use `….compareTo(quantity("10Gi")) >= 0` or `.isGreaterThan(…)`: quantities have no `<` and `>`'


def _attribute_without_domain(problem: Problem) -> str:
    matched = re.search(
        r"attributes\[(['\"])([\w-]+)\1\]\s*(==|!=|<|>|\.startsWith|\.matches)", _expression(problem)
    )
    if not matched:
        return ""
    return f'look up attributes by domain, then by name: `device.attributes["<driver>"].{matched[2]}`'


def _misspelt(problem: Problem) -> str:
    """A field of the device, or the device itself, with a slip."""
    matched = re.search(r"undefined field '(\w+)'|undeclared reference to '(\w+)'", problem.message)
    if not matched:
        return ""
    return did_you_mean(matched[1], DEVICE_FIELDS) if matched[1] else did_you_mean(matched[2], NAMES)


def _gated(problem: Problem) -> str:
    """A name that is only there with a feature gate."""
    from advice.hints.gates import explain

    for name, gate in GATED.items():
        if f"'{name}'" in problem.message and gate not in problem.profile.gates:
            return f"`{name}` cannot be used: {explain(gate, problem.profile)}"
    return ""


def _unbalanced(problem: Problem) -> str:
    """Brackets outside of texts that do not match."""
    bare = _without_strings(_expression(problem))
    for opening, closing in ("()", "[]", "{}"):
        missing = bare.count(opening) - bare.count(closing)
        if missing:
            lacking, extra = (closing, opening) if missing > 0 else (opening, closing)
            return f"unbalanced brackets: a `{lacking}` is missing, or there is one `{extra}` too many"
    return ""


def _single_equals(problem: Problem) -> str:
    bare = _without_strings(_expression(problem))
    return "write `==` for equality" if re.search(r"[^=!<>]=[^=]", bare) else ""


def _words(problem: Problem) -> str:
    bare = _without_strings(_expression(problem))
    matched = re.search(r"\b(and|or|not|AND|OR|NOT)\b", bare)
    if not matched:
        return ""
    word = matched[1].lower()
    return f"write `{ {'and': '&&', 'or': '||', 'not': '!'}[word] }` instead of `{matched[1]}` in CEL"


def _tagged(problem: Problem) -> str:
    """An expression that begins with `!`, so that only what follows the first space is sent."""
    if not problem.tag.startswith("!"):
        return ""
    return f"put the expression in single quotes, or on the lines below `|-`: YAML takes `{problem.tag}` for a tag"


def _empty(problem: Problem) -> str:
    if problem.value != "":
        return ""
    return "write an expression; put one that begins with `!` in single quotes or after `|-`, as YAML reads `!` as a tag"


def _no_boolean(problem: Problem) -> str:
    """An expression whose value is an attribute or the like, not whether the device fits."""
    matched = re.search(r"must evaluate to bool or the unknown type, not (.+)$", problem.message)
    if matched is None:
        return ""
    example = {
        "string": '`… == "a100"`',
        "int": "`… >= 2`",
        "kubernetes.Quantity": '`….compareTo(quantity("10Gi")) >= 0`',
        "kubernetes.Semver": '`….isGreaterThan(semver("1.2.3"))`',
    }.get(matched[1])
    condition = "write a condition, which is true for the devices to select"
    return f"{condition}, such as {example}" if example else condition


def _expression(problem: Problem) -> str:
    return problem.value if isinstance(problem.value, str) else ""


def _without_strings(expression: str) -> str:
    return STRING.sub(lambda found: "" if found[2] else found[0], expression)


WRONG = (INVALID,)
HINTS = (
    Hint("tag-instead-of-expression", WRONG, _tagged, place=EXPRESSION),
    Hint("empty-expression", WRONG, _empty, place=EXPRESSION),
    Hint("capacity-field", WRONG, _quantity_field, place=EXPRESSION),
    Hint("quantity-literal", WRONG, _quantity_literal, place=EXPRESSION),
    Hint("quantity-operator", WRONG, _quantity_operator, place=EXPRESSION),
    Hint("version-operator", WRONG, _version_operator, place=EXPRESSION),
    Hint("attribute-without-domain", WRONG, _attribute_without_domain, place=EXPRESSION),
    Hint("gated-name", WRONG, _gated, place=EXPRESSION),
    Hint("misspelt-name", WRONG, _misspelt, place=EXPRESSION),
    Hint("no-boolean", WRONG, _no_boolean, place=EXPRESSION),
    Hint("unbalanced-brackets", WRONG, _unbalanced, place=EXPRESSION),
    Hint("words-for-operators", WRONG, _words, place=EXPRESSION),
    Hint("single-equals", WRONG, _single_equals, place=EXPRESSION),
    Hint(
        "too-complex",
        (FORBIDDEN,),
        "compare attributes directly, without nested loops and "
        "without functions on strings of unknown length; the server estimates the cost of the worst case",
        place=EXPRESSION,
        message="exceeds cost limit",
    ),
)
