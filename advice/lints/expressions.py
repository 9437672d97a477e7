"""Lints for one selector without an inventory: CC007, CC012, CC013, and the look-ups that CC011 and CC015 need.

Whether a selector gives the same result on every device (CC013) is found by looking at its parts only: a part that does not use
the device and fails, fails on every device; ``&&`` and ``||`` may absorb the error, as in CEL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any

from advice.lints.table import AS_TEXT, CONSTANT, TYPE_LOOKUP, Lint
from deviceselectors.ast import Call, Comprehension, Ident, ListLiteral, Literal, Node, Select
from deviceselectors.libraries import find
from deviceselectors.lookups import ATTRIBUTES, Key, Lookup, as_lookup, domain_of, member, unguarded, walk
from deviceselectors.runtime import effort

if TYPE_CHECKING:
    from deviceselectors.environment import Environment


_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SIGNS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_LOGIC = frozenset(("_&&_", "_||_", "_?_:_"))
# So many parts of an expression are computed, in so many steps each. Strangers' expressions come here on the service's event loop.
_MOST_COMPUTED = 16
_MOST_STEPS = 500

Scalar = bool | int | float | str | bytes | None
Atom = tuple[str, str, tuple[Scalar, ...]]
"""An operand's text, how it is compared (`==`, `<`, `in` …; `is` with itself for a truth value), and with what."""


class Failing(Enum):
    """The results, other than false, of an expression that is true for no device."""

    ALWAYS = "fails on every device"
    OR_FALSE = "fails on every device for which it is not false"


Constant = bool | Failing
_NEVER_TRUE = (False, *Failing)


def outcome(root: Node) -> Constant | None:
    """The result on every device that has the attributes it looks up, or None if that depends on the device.

    The time grows with the size of the expression only: each part is read once.
    """
    with effort.limited(_MOST_STEPS) as was_too_much:
        return _outcome(root, _Computer(was_too_much))


def _outcome(node: Node, computer: _Computer) -> Constant | None:
    if isinstance(node, Literal):
        return node.value if isinstance(node.value, bool) else None
    if isinstance(node, Call):
        function = node.function
        if function == "!_":
            inner = _outcome(node.args[0], computer)
            if isinstance(inner, bool):
                return not inner
            return inner if inner is Failing.ALWAYS else None
        if function in ("_&&_", "_||_"):
            return _logic(list(_terms(node, function)), computer, decisive=function == "_||_")
        if function == "_?_:_":
            condition = _outcome(node.args[0], computer)
            branches = [_outcome(branch, computer) for branch in node.args[1:]]
            if condition is Failing.ALWAYS:
                return condition
            if isinstance(condition, bool):
                return branches[0 if condition else 1]
            return branches[0] if branches[0] == branches[1] else None
    return None if _depends_or_loops(node) else computer.compute(node)


def _logic(terms: list[Node], computer: _Computer, *, decisive: bool) -> Constant | None:
    outcomes = [_outcome(term, computer) for term in terms]
    if decisive in outcomes:
        return decisive
    if all(isinstance(found, bool) for found in outcomes):
        return not decisive
    if all(isinstance(found, bool) or found is Failing.ALWAYS for found in outcomes):
        return Failing.ALWAYS
    # one term makes && untrue, || wants that of all
    found_untrue = [found in _NEVER_TRUE for found in outcomes]
    if all(found_untrue) if decisive else any(found_untrue):
        return Failing.OR_FALSE
    atoms = [atom for term in terms if (atom := _atom(term)) is not None]
    if len(atoms) > 1:
        if decisive:
            atoms = [negation for atom in atoms if (negation := _negation(atom)) is not None]
        if _excludes_itself(atoms):
            return decisive
    return None


def _terms(node: Node, function: str) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call) and part.function == function:
            waiting.extend(reversed(part.args))
        else:
            yield part


def _depends_or_loops(node: Node) -> bool:
    """Whether the part uses the device, or has loops or regular expressions, which could take long."""
    return any(
        isinstance(part, Comprehension)
        or (isinstance(part, Ident) and part.name == "device")
        or (isinstance(part, Call) and _searches(part))
        for part in walk(node)
    )


def _searches(call: Call) -> bool:
    function = find(call.function)
    return function is not None and function.search is not None


class _Computer:
    """Computes the parts of one expression that do not use the device, but not many of them."""

    def __init__(self, was_too_much: Callable[[], bool]) -> None:
        self._parts_left = _MOST_COMPUTED
        self._was_too_much = was_too_much

    def compute(self, node: Node) -> Constant | None:
        """The value of a part, None if all parts together would take too long."""
        from deviceselectors.runtime.device import prepare_device
        from deviceselectors.runtime.program import EvaluationError, Program, ProgramError

        if not self._parts_left or self._was_too_much():
            return None
        self._parts_left -= 1
        try:
            return Program(node).matches(prepare_device({}, ""))
        except (EvaluationError, ProgramError):
            return None if self._was_too_much() else Failing.ALWAYS


def _atom(term: Node) -> Atom | None:
    """A comparison of a part of the device with constants.

    Parts whose own terms are compared are none: each level of them would write out all the levels below it.
    """
    from deviceselectors.unparsing import unparse  # few expressions have several comparisons

    if not isinstance(term, Call):
        return unparse(term), "==", (True,)
    innermost: Node = term
    while isinstance(innermost, Call) and innermost.function == "!_":
        innermost = innermost.args[0]
    if isinstance(innermost, Call) and innermost.function in _LOGIC:
        return None
    if term.function == "!_":
        return unparse(term.args[0]), "==", (False,)
    if term.function in _SIGNS:
        left, right = term.args
        sign = _SIGNS[term.function]
        if isinstance(left, Literal):
            left, right, sign = right, left, _SWAPPED[sign]
        if isinstance(right, Literal):
            return unparse(left), sign, (right.value,)
        return None
    if term.function == "@in" and isinstance(term.args[1], ListLiteral):
        elements = term.args[1].elements
        values = tuple([element.value for element in elements if isinstance(element, Literal)])
        return (unparse(term.args[0]), "in", values) if len(values) == len(elements) else None
    return unparse(term), "==", (True,)


def _negation(atom: Atom) -> Atom | None:
    operand, sign, values = atom
    if sign == "in":
        return None
    if isinstance(values[0], bool) and sign == "==":
        return operand, "==", (not values[0],)
    return operand, _NEGATED[sign], values


def _excludes_itself(atoms: list[Atom]) -> bool:
    """Whether no value can satisfy all comparisons of some operand."""
    by_operand: dict[str, list[Atom]] = {}
    for atom in atoms:
        by_operand.setdefault(atom[0], []).append(atom)
    return any(len(group) > 1 and _is_impossible(group) for group in by_operand.values())


def _is_impossible(atoms: list[Atom]) -> bool:
    """Whether no value satisfies all comparisons; integers between 3 and 4 are not looked for."""
    allowed: list[Scalar] | None = None
    excluded: set[tuple[type, Scalar]] = set()
    interval = _Interval()
    for _, sign, values in atoms:
        if sign in ("==", "in"):
            before = None if allowed is None else set(allowed)
            allowed = [value for value in values if before is None or value in before]
        elif sign == "!=":
            excluded.add((type(values[0]), values[0]))
        else:
            interval.narrow(sign, values[0])
    if allowed is None:
        return interval.is_empty()
    return not any((type(value), value) not in excluded and interval.has(value) for value in allowed)


class _Interval:
    """The numbers, and the strings, within bounds; it has all values of types that are not compared here."""

    def __init__(self) -> None:
        self._bounds: dict[tuple[type, str], tuple[Any, bool]] = {}
        """The tightest bound of a type in a direction, and whether it is outside."""

    def narrow(self, sign: str, bound: Scalar) -> None:
        kind = _ordered_type(bound)
        if kind is None:
            return
        direction, is_outside = sign[0], len(sign) == 1
        there = self._bounds.get((kind, direction))
        if there is None or (bound == there[0] and is_outside) or _holds(bound, direction, there[0]):
            self._bounds[kind, direction] = bound, is_outside

    def has(self, value: Scalar) -> bool:
        kind = _ordered_type(value)
        return all(
            bound is None or _holds(value, direction, bound[0]) or (value == bound[0] and not bound[1])
            for direction in "<>"
            for bound in (self._bounds.get((kind, direction)) if kind is not None else None,)
        )

    def is_empty(self) -> bool:
        """Whether a lower bound is above an upper one."""
        for kind in (float, str):
            low, high = self._bounds.get((kind, ">")), self._bounds.get((kind, "<"))
            if low is None or high is None:
                continue
            if not (low[0] < high[0] or (low[0] == high[0] and not low[1] and not high[1])):
                return True
        return False


def _ordered_type(value: Scalar) -> type | None:
    """One type for all numbers; None for values that are not ordered here."""
    if isinstance(value, (int, float)):
        return float
    return str if isinstance(value, str) else None


def _holds(left: Any, direction: str, right: Any) -> bool:
    return bool(left < right if direction == "<" else left > right)


_VALUE_TYPES = frozenset(("string", "int", "bool", "version", "strings", "ints", "bools", "versions"))
_ORDER = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_EQUALITY = {"_==_": "==", "_!=_": "!="}
_COMPARISONS = {**_ORDER, **_EQUALITY}
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_LONGEST = 100


class Remark:
    """A remark about a part of an expression; `position` and `length` are in code points.

    `version` is the look-up that must give a version for the remark to be right, if it depends on that.
    """

    __slots__ = ("hint", "length", "lint", "message", "position", "version")

    def __init__(
        self, lint: Lint, position: int, length: int, message: str, hint: str, version: Lookup | None = None
    ) -> None:
        self.lint = lint
        self.position = position
        self.length = length
        self.message = message
        self.hint = hint
        self.version = version


class Expression:
    """A selector that compiles, with the remarks that hold whatever the devices are."""

    def __init__(self, text: str, root: Node) -> None:
        self.text = text
        self.root = root
        nodes = list(walk(root))
        self.lookups = _distinct(nodes)
        if "has" in text or "?" in text or " in " in text:  # there may be guards
            self.unguarded = unguarded(root)
        else:
            self.unguarded = self.lookups
        #: its result on every device, None if that depends on the device
        self.constant = _constant(root, text)
        self.remarks = list(self._remarks(nodes))
        #: whether there are unguarded look-ups to note where no devices are known
        self.deserves_note = bool(self.unguarded) and self.constant is None

    def _remarks(self, nodes: list[Node]) -> Iterator[Remark]:
        if self.constant is not None:
            yield _constant_remark(self)
        for node in nodes:
            if isinstance(node, (Select, Call)):
                found = member(node)
                if found is not None:
                    yield from _type_lookup(node, found[0], found[1])
                elif isinstance(node, Call) and node.function in _COMPARISONS:
                    yield from _compared_as_text(node)


def _distinct(nodes: list[Node]) -> list[Lookup]:
    """The look-ups, the first of each attribute or capacity."""
    found: dict[Key, Lookup] = {}
    for node in nodes:
        if isinstance(node, (Select, Call)):
            lookup = as_lookup(node)
            if lookup is not None:
                found.setdefault(lookup.key, lookup)
    return list(found.values())


def read(text: str, environment: Environment) -> Expression | None:
    """The expression, or None if it does not compile or is too complex; validation has said why."""
    from deviceselectors.compiler import compile_expression

    compiled = compile_expression(text, environment)
    if compiled.ast is None or compiled.is_too_complex:
        return None
    return Expression(text, compiled.ast)


def _constant(root: Node, text: str) -> Constant | None:
    if "&&" not in text and "||" not in text and "device" in text and "==" not in text:
        return None

    return outcome(root)


def _constant_remark(expression: Expression) -> Remark:
    constant = expression.constant
    if constant is True:
        message, hint = (
            "the selector is true for every device",
            "remove it, or compare a property of the device",
        )
    elif constant is not None and constant is not False:
        message = f"the selector {constant.value}"
        hint = "run `claimcheck cel` to see the error; kube-scheduler gives up on a pod when a selector fails"
    else:
        message = "the selector is false for every device"
        hint = "should `&&` be `||`? The same look-up cannot have two values at once"
        if "device" not in expression.text:
            hint = "it does not use the device"
    return Remark(CONSTANT, 0, len(expression.text), message, hint)


def _written(node: Node) -> str:
    # loaded only when there is something to say
    from deviceselectors.unparsing import unparse

    return unparse(node, _LONGEST)


# --- CC007: a domain taken for an attribute, a value's type for its name ---------------------------------------------


def _type_lookup(node: Select | Call, operand: Node, name: str) -> Iterator[Remark]:
    domain = domain_of(operand)
    if domain is not None:
        yield from _misused_domain(node, domain[0], domain[1], name)
        return
    if name not in _VALUE_TYPES:
        return
    lookup = as_lookup(operand)
    if lookup is not None and lookup.map == ATTRIBUTES:
        text = _written(operand)
        message = f'{text}.{name} uses the type "{name}" as a field, but an attribute is its value'
        yield Remark(TYPE_LOOKUP, node.position + 1, len(name), message, f"write `{text}`")


def _misused_domain(node: Select | Call, map_: str, domain: str, name: str) -> Iterator[Remark]:
    for qualified in (domain, name):
        where, slash, identifier = qualified.partition("/")
        if slash and identifier:
            message = f'{_written(node)} looks for a domain or name "{qualified}", which no device can have'
            yield Remark(
                TYPE_LOOKUP, node.position, 1, message, f'write `device.{map_}["{where}"].{identifier}`'
            )
            return
    if map_ == ATTRIBUTES and name in _VALUE_TYPES and "." not in domain:
        text = _written(node)
        message = f'{text} looks up the attribute "{name}" in the domain "{domain}", and fails on devices without it'
        hint = f'look up attributes by domain, then by name: `device.attributes["<driver>"].{domain}`'
        yield Remark(TYPE_LOOKUP, node.position + 1, len(name), message, hint)


# --- CC012: versions and quantities compared as strings ----------------------------------------------------------------


def _compared_as_text(node: Call) -> Iterator[Remark]:
    sign = _COMPARISONS[node.function]
    left, right = node.args
    if isinstance(left, Literal):
        left, right, sign = right, left, _SWAPPED[sign]
    lookup = as_lookup(left)
    if lookup is None or lookup.map != ATTRIBUTES or not isinstance(right, Literal):
        return
    if isinstance(right.value, str):
        yield from _compared_with(node, lookup, sign, right.value)


def _compared_with(node: Call, lookup: Lookup, sign: str, value: str) -> Iterator[Remark]:
    if sign in _EQUALITY.values() and "version" not in lookup.name.lower():
        return
    import re

    from validation.version_texts import as_semantic_version

    text, version = _written(lookup.node), as_semantic_version(value)
    position, length = node.position, len(sign)
    is_version = "." in value and version
    if sign in _EQUALITY.values():
        if is_version and value.count(".") > 1:
            message = f'"{lookup.name}" is compared with a string, which fails if it is a version'
            hint = f'if it is a version, write `{text} {sign} semver("{version}")`'
            yield Remark(AS_TEXT, position, length, message, hint, lookup)
    elif is_version:
        message = f'"{lookup.name}" is compared as a string, so "10.0" is less than "9.0"'
        hint = f'compare versions: `{text}.compareTo(semver("{version}")) {sign} 0`'
        yield Remark(AS_TEXT, position, length, message, hint)
    elif re.fullmatch(r"[0-9]+(\.[0-9]+)?([KMGTPE]i|[mkMGTPE])", value):
        message = f'"{lookup.name}" is compared as a string, so "100Gi" is less than "80Gi"'
        hint = f'compare quantities: `quantity({text}).compareTo(quantity("{value}")) {sign} 0`'
        yield Remark(AS_TEXT, position, length, message, hint)
    elif re.fullmatch(r"[0-9]+", value):
        message = f'"{lookup.name}" is compared as a string, so "100" is less than "80"'
        yield Remark(AS_TEXT, position, length, message, f"if it is a number, write `{text} {sign} {value}`")


def guard(lookup: Lookup) -> str:
    """The advice to guard a look-up."""
    return f'add a guard: `has(device.{lookup.map}["{lookup.domain}"].{lookup.name}) && …`'
