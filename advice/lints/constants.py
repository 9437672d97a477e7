"""CC013: whether a selector gives the same result on every device, found by looking at its parts only.

A part that does not use the device and fails, fails on every device; ``&&`` and ``||`` may absorb the error, as in CEL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

from deviceselectors.ast import Call, Comprehension, Ident, ListLiteral, Literal, Node
from deviceselectors.libraries import find
from deviceselectors.lookups import walk
from deviceselectors.runtime import effort

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_SIGNS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
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
