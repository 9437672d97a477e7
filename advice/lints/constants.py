"""CC013: whether a selector gives the same result on every device, found by looking at its parts only.

A part that does not use the device and fails, fails on every device; ``&&`` and ``||`` may absorb the error, as in CEL.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from deviceselectors.ast import Call, Comprehension, Ident, ListLiteral, Literal, Node
from deviceselectors.lookups import walk

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SIGNS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}

Scalar = bool | int | float | str | bytes | None
Atom = tuple[str, str, tuple[Scalar, ...]]
"""An operand's text, how it is compared (`==`, `<`, `in` …; `is` with itself for a truth value), and with what."""


class Failing(Enum):
    """The results, other than false, of an expression that is true for no device."""

    ALWAYS = "fails on every device"
    OR_FALSE = "fails on every device for which it is not false"


Constant = bool | Failing
_NEVER_TRUE = (False, *Failing)


def outcome(node: Node) -> Constant | None:
    """The result on every device that has the attributes it looks up, or None if that depends on the device."""
    if isinstance(node, Literal):
        return node.value if isinstance(node.value, bool) else None
    if isinstance(node, Call):
        function = node.function
        if function == "!_":
            inner = outcome(node.args[0])
            if isinstance(inner, bool):
                return not inner
            return inner if inner is Failing.ALWAYS else None
        if function in ("_&&_", "_||_"):
            return _logic(list(_terms(node, function)), decisive=function == "_||_")
        if function == "_?_:_":
            condition = outcome(node.args[0])
            branches = [outcome(branch) for branch in node.args[1:]]
            if condition is Failing.ALWAYS:
                return condition
            if isinstance(condition, bool):
                return branches[0 if condition else 1]
            return branches[0] if branches[0] == branches[1] else None
    return None if _depends_or_loops(node) else _computed(node)


def _logic(terms: list[Node], *, decisive: bool) -> Constant | None:
    outcomes = [outcome(term) for term in terms]
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


def _terms(node: Node, function: str) -> Iterable[Node]:
    if isinstance(node, Call) and node.function == function:
        for arg in node.args:
            yield from _terms(arg, function)
    else:
        yield node


def _depends_or_loops(node: Node) -> bool:
    """Whether the part uses the device, or could take long to compute."""
    return any(
        isinstance(part, Comprehension) or (isinstance(part, Ident) and part.name == "device")
        for part in walk(node)
    )


def _computed(node: Node) -> Constant | None:
    """The value of a part that does not use the device."""
    from deviceselectors.runtime.device import prepare_device
    from deviceselectors.runtime.program import EvaluationError, Program, ProgramError

    try:
        return Program(node).matches(prepare_device({}, ""))
    except (EvaluationError, ProgramError):
        return Failing.ALWAYS


def _atom(term: Node) -> Atom | None:
    """A comparison of a part of the device with constants."""
    from deviceselectors.unparsing import unparse  # few expressions have several comparisons

    if not isinstance(term, Call):
        return unparse(term), "==", (True,)
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
    allowed: list[Scalar] | None = None
    for _, sign, values in atoms:
        if sign in ("==", "in"):
            allowed = [v for v in values if allowed is None or v in allowed]
    if allowed is not None:
        return not any(_fits(value, atoms) for value in allowed)
    return _has_empty_range(atoms)


def _fits(value: Scalar, atoms: list[Atom]) -> bool:
    for _, sign, others in atoms:
        other = others[0] if others else None
        if sign == "!=" and value == other and type(value) is type(other):
            return False
        if sign not in ("==", "!=", "in") and not _is_ordered(value, sign, other):
            return False
    return True


def _is_ordered(value: Scalar, sign: str, other: Scalar) -> bool:
    """Whether the comparison holds, or cannot be decided here."""
    numbers = isinstance(value, (int, float)) and isinstance(other, (int, float))
    if numbers or (isinstance(value, str) and isinstance(other, str)):
        less, equal = value < other, value == other  # type: ignore[operator]
        return {"<": less, "<=": less or equal, ">": not (less or equal), ">=": not less}[sign]
    return True


def _has_empty_range(atoms: list[Atom]) -> bool:
    """Whether a lower bound is above an upper one; integers between 3 and 4 are not looked for."""
    for _, sign, (low, *_) in atoms:
        for _, other_sign, (high, *_) in atoms:
            if sign in (">", ">=") and other_sign in ("<", "<="):
                strict = sign == ">" or other_sign == "<"
                if not _is_ordered(low, "<" if strict else "<=", high):
                    return True
    return False
