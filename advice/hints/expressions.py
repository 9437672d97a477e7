"""Hints for CEL expressions, and for the shape of the selectors that they stand in.

Most are about idioms that people try and that do not work. All but one look at the text only; what an expression really means
is the business of the CEL compiler.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from advice.hints.hint import Advice, Hint, Problem, renamed, yaml
from deviceselectors.libraries import is_callable
from resourceapi.field_errors import FORBIDDEN, INVALID
from resourceapi.manifests import value_at
from resourceapi.measured import MODERN_MINORS
from resourceapi.phrases import did_you_mean
from validation.requests import UNKNOWN_FIELD, WRONG_TYPE

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


_OF_SELECTORS = (
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


DEVICE_FIELDS = ("driver", "attributes", "capacity", "allowMultipleAllocations")
NAMES = ("device", "quantity", "semver")
# Names that the server declares if the gate is on (k8s.io/dynamic-resource-allocation, cel package).
GATED = {"allowMultipleAllocations": "DRAConsumableCapacity", "includes": "DRAListTypeAttributes"}
# A string, or what follows a quote that nothing closes: no character is looked at twice.
STRING = re.compile(r"([\"'])(?:(?!\1)[^\\]|\\.)*+(\1)?")
_LOOKUP = r"device\.(?:attributes|capacity)\[(?:\"[\w.-]+\"|'[\w.-]+')\]\.\w+"
# A look-up of a capacity, and the text or number that it is compared with.
COMPARED_CAPACITY = re.compile(
    rf"(?P<capacity>{_LOOKUP})\s*(?P<sign>[<>]=?|[=!]=)\s*[\"']?(?P<amount>[0-9]+(?:[kMGTPE]|[KMGTPE]i)?)(?![\w.])"
)
# A look-up in the attributes or capacity of a device that no other follows.
LOOKED_UP_ONCE = re.compile(
    r"\bdevice\.(?P<map>attributes|capacity)(?:\.(?P<field>\w++)|\[([\"'])(?P<key>(?:[\w.-]+/)?[A-Za-z_]\w*)\3\])"
    r"(?!\s*(?:\[|\.\s*\w++(?!\s*\()))"
)
MATCHED = re.compile(rf"({_LOOKUP})\s*=~\s*(\"[^\"\\]*\"|'[^'\\]*')")
CAPACITY, ATTRIBUTE = 'device.capacity["<driver>"].memory', 'device.attributes["<driver>"].model'
# Longer expressions are not compiled again for a hint.
_LONGEST_TRIED = 1000
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


def _quantity_with_other(problem: Problem) -> str:
    """A capacity that is compared with a text or a number."""
    if not re.search(
        r"applied to '\((?:kubernetes\.Quantity, (?:string|int)|(?:string|int), kubernetes\.Quantity)\)",
        problem.message,
    ):
        return ""
    capacity, sign, amount = CAPACITY, ">=", "10Gi"
    if matched := COMPARED_CAPACITY.search(_expression(problem)):
        capacity, sign, amount = matched["capacity"], matched["sign"], matched["amount"]
    return f'compare it with a quantity: `{capacity}.compareTo(quantity("{amount}")) {sign} 0`'


def _domain_as_value(problem: Problem) -> str:
    """``attributes["gpu.example.com/model"]`` and ``attributes.model``: all attributes of a domain, not one."""
    if not re.search(r"map\(string, (?:any|dyn|kubernetes\.Quantity)\)", problem.message):
        return ""
    matched = LOOKED_UP_ONCE.search(_expression(problem))
    if not matched:
        return ""
    domain, _, name = (matched["key"] or "").rpartition("/")
    return _looked_up_twice(matched["map"], domain or "<driver>", name or matched["field"])


def _attribute_as_field(problem: Problem) -> str:
    """``device.model``."""
    matched = re.search(r"undefined field '(\w+)'", problem.message)
    expression = _expression(problem)
    if not matched or not re.search(rf"\bdevice\.{matched[1]}\b", expression):
        return ""
    return _looked_up_twice("capacity" if "quantity(" in expression else "attributes", "<driver>", matched[1])


def _looked_up_twice(map_: str, domain: str, name: str) -> str:
    found = f'device.{map_}["{domain}"].{name}'
    if map_ == "capacity":
        found += '.compareTo(quantity("10Gi")) >= 0'
    return (
        f"look up {'a capacity' if map_ == 'capacity' else 'attributes'} by domain, then by name: `{found}`"
    )


def _match_operator(problem: Problem) -> str:
    """``=~``, which matches regular expressions elsewhere."""
    if "=~" not in _without_strings(_expression(problem)):
        return ""
    matched = MATCHED.search(_expression(problem))
    example = f"{matched[1]}.matches({matched[2]})" if matched else f'{ATTRIBUTE}.matches("^a100")'
    return f"call `matches` for a regular expression: `{example}`"


def _quantity_operator(problem: Problem) -> str:
    if not re.search(r"[<>]=?\s*quantity\(|quantity\([^)]*\)\s*[<>]=?", _expression(problem)):
        return ""
    return 'use `….compareTo(quantity("10Gi")) >= 0` or `.isGreaterThan(…)`: quantities have no `<` and `>`'


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


def _of_another_release(problem: Problem) -> str:
    """A function, or a form of one, that expressions can use in other releases, of which the next later one is named, else the last."""
    expression = _expression(problem)
    named = re.findall(
        r"(?:undeclared reference to|found no matching overload for) '([\w.]+)'", problem.message
    )
    if not named or len(expression) > _LONGEST_TRIED:
        return ""
    here = problem.profile.minor
    having = [minor for minor in MODERN_MINORS if minor != here and _compiles(problem, expression, minor)]
    if not having:
        return ""
    in_namespaces = map(".".join, pairwise(named))  # `lists.range` is two names to servers without it
    what = next((f"`{name}`" for name in (*in_namespaces, *named) if is_callable(name)), "call")
    later = next((minor for minor in having if minor > here), None)
    if later is None:
        return f"write it without this {what}: 1.{having[-1]} is the last release in which expressions can use it"
    return f"write it without this {what}, or use a later release: expressions can use it from 1.{later} on"


def _compiles(problem: Problem, expression: str, minor: int) -> bool:
    """Whether release 1.`minor` takes the expression, with the gates that are on."""
    from deviceselectors.compiler import compile_expression
    from deviceselectors.environment import environment_of

    gates, derived = problem.profile.gates, "derivedAttributes" in problem.path
    consumable, lists = (gate in gates for gate in GATED.values())
    return not compile_expression(expression, environment_of(consumable, lists, derived, minor)).error


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
    *_OF_SELECTORS,
    Hint("tag-instead-of-expression", WRONG, _tagged, place=EXPRESSION),
    Hint("empty-expression", WRONG, _empty, place=EXPRESSION),
    Hint("capacity-field", WRONG, _quantity_field, place=EXPRESSION),
    Hint("quantity-literal", WRONG, _quantity_literal, place=EXPRESSION),
    Hint("gated-name", WRONG, _gated, place=EXPRESSION),
    Hint("function-of-another-release", WRONG, _of_another_release, place=EXPRESSION),
    Hint("misspelt-name", WRONG, _misspelt, place=EXPRESSION),
    Hint("attribute-as-field", WRONG, _attribute_as_field, place=EXPRESSION),
    Hint("attribute-without-domain", WRONG, _domain_as_value, place=EXPRESSION),
    Hint("quantity-with-other", WRONG, _quantity_with_other, place=EXPRESSION),
    Hint("quantity-operator", WRONG, _quantity_operator, place=EXPRESSION),
    Hint("version-operator", WRONG, _version_operator, place=EXPRESSION),
    Hint("no-boolean", WRONG, _no_boolean, place=EXPRESSION),
    Hint("unbalanced-brackets", WRONG, _unbalanced, place=EXPRESSION),
    Hint("words-for-operators", WRONG, _words, place=EXPRESSION),
    Hint("match-operator", WRONG, _match_operator, place=EXPRESSION),
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
