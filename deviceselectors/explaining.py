"""Why an expression gave false or failed on a device: which of its parts did, and the values that they saw."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from deviceselectors.ast import Call, Comprehension, Ident, ListLiteral, Literal, Node, Select
from deviceselectors.lookups import (
    ATTRIBUTES,
    children,
    device_map,
    domain_of,
    looked_up,
    member,
    presence_test,
    walk,
)
from deviceselectors.runtime import effort
from deviceselectors.runtime.closures import CostExceededError
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.evaluator import Evaluator
from deviceselectors.runtime.planning import Plan, ProgramError
from deviceselectors.runtime.program import COST_LIMIT
from deviceselectors.runtime.showing import show
from deviceselectors.runtime.values import MISSING, NONE, CelError, CelPanic
from deviceselectors.types import TYPE
from deviceselectors.unparsing import unparse
from resourceapi.phrases import shortened

#: Reasons beyond these are left out, and longer texts are cut.
MAX_REASONS = 8
_MAX_TEXT = 120
_MAX_LISTED = 8
#: Programs of parts are made until they have so many nodes together; what long expressions have beyond stays
#: unexplained.
_MAX_NODES = 3_000

_Wrap = Callable[[Node], Node]


class Reason:
    """One part of an expression that made the whole false, or failed.

    `expression` is its text, `position` where it is in the source, in code points, `outcome` what came of it (`is
    false`, `fails: no such key: model`), and `details` say why (`model is "h100"`).  `verdict` is the outcome without
    anything that a device has brought: values, and messages that may quote them.  `seen` has the values of the details
    with what they are values of, and `wanted` what a comparison with a constant would have accepted (`"h200"`, `< 4`).
    """

    __slots__ = ("details", "expression", "outcome", "position", "seen", "verdict", "wanted")

    def __init__(
        self,
        expression: str,
        position: int,
        outcome: str,
        details: tuple[str, ...],
        verdict: str,
        seen: tuple[tuple[str, str], ...] = (),
        wanted: str = "",
    ) -> None:
        self.expression = expression
        self.position = position
        self.outcome = outcome
        self.details = details
        self.verdict = verdict
        self.seen = seen
        self.wanted = wanted

    def __str__(self) -> str:
        details = f": {', '.join(self.details)}" if self.details else ""
        return f"{self.expression} {self.outcome}{details}"


class Explainer:
    """Explains one checked expression on any number of devices; programs of its parts are made once."""

    def __init__(self, root: Node) -> None:
        """`root` has passed the type checker."""
        self._root = root
        #: what variables of `cel.bind` stand for, those aside that are bound again elsewhere
        self.bound = _bound_once(root)
        self._programs: dict[tuple[int, int], Evaluator | CelError] = {}
        # the wrapped nodes live as long as their programs, which are found by their ids
        self._kept: list[Node] = []
        self._nodes = 0

    def explain(self, device: Device) -> list[Reason]:
        """The reasons, first those in front; none if the expression is true."""
        if device.error is not None:
            return [Reason("the device", 0, f"cannot be used: {device.error}", (), "cannot be used")]
        found: list[Reason] = []
        for reason in _Explanation(self, device).reasons(self._root, False, _as_it_is, ()):
            if len(found) == MAX_REASONS:
                break
            found.append(reason)
        return found

    def value(self, node: Node, device: Device, wrap: _Wrap, scope: tuple[int, ...]) -> Any:
        """The value of a part, or the CelError that it gives, or MISSING where too many have been asked for.

        `wrap` puts the bindings around the part that it needs.
        """
        key = (id(node), len(scope))
        program = self._programs.get(key)
        if program is None:
            self._nodes += sum(1 for _ in walk(node))
            if self._nodes > _MAX_NODES:
                return MISSING
            whole = wrap(node)
            self._kept.append(whole)
            try:
                program = Evaluator(Plan(whole))
            except ProgramError as error:
                program = CelError(str(error))
            self._programs[key] = program
        if isinstance(program, CelError):
            return program
        effort.begin()
        effort.look()
        try:
            return program.counted(device, COST_LIMIT)[0]
        except CostExceededError:
            return CelError("operation cancelled: actual cost limit exceeded")
        except CelPanic as panic:
            return CelError(panic.message)


def _as_it_is(node: Node) -> Node:
    return node


class _Explanation:
    """The search for reasons on one device."""

    def __init__(self, explainer: Explainer, device: Device) -> None:
        self._explainer = explainer
        self._device = device

    def reasons(self, node: Node, expected: bool, wrap: _Wrap, scope: tuple[int, ...]) -> Iterator[Reason]:
        """Why the node gave `expected` or failed; nothing if it did neither."""
        value = self._explainer.value(node, self._device, wrap, scope)
        if value is (not expected) or value is MISSING:
            return
        failed = value.__class__ is CelError
        if isinstance(node, Call):
            function = node.function
            if function == "!_":
                yield from self.reasons(node.args[0], not expected, wrap, scope)
                return
            if function in ("_&&_", "_||_"):
                yield from self._logic(node, expected, failed, wrap, scope)
                return
            if function == "_?_:_" and not failed:
                yield from self._conditional(node, expected, wrap, scope)
                return
        if isinstance(node, Comprehension) and node.macro == "bind":
            first = self._explainer.value(node.accu_init, self._device, wrap, scope)
            if first.__class__ is not CelError:
                inner = _binding(node, wrap)
                yield from self.reasons(node.result, expected, inner, (*scope, id(node)))
                return
        if failed:
            yield self._failure(node, value, wrap, scope)
        else:
            yield self._plain(node, value, wrap, scope)

    def _logic(
        self, node: Call, expected: bool, failed: bool, wrap: _Wrap, scope: tuple[int, ...]
    ) -> Iterator[Reason]:
        """Of `a && b` that is false, the parts that are false; the errors that they absorb do not matter."""
        for term in _terms(node, node.function):
            value = self._explainer.value(term, self._device, wrap, scope)
            if (value.__class__ is CelError) is failed:
                yield from self.reasons(term, expected, wrap, scope)

    def _conditional(
        self, node: Call, expected: bool, wrap: _Wrap, scope: tuple[int, ...]
    ) -> Iterator[Reason]:
        condition = self._explainer.value(node.args[0], self._device, wrap, scope)
        branch = node.args[1 if condition is True else 2]
        for reason in self.reasons(branch, expected, wrap, scope):
            because = _quoted(node.args[0]), _shown(condition)
            reason.details = (*reason.details, _is(because))
            reason.seen = (*reason.seen, because)
            reason.wanted = ""
            yield reason

    def _plain(self, node: Node, value: Any, wrap: _Wrap, scope: tuple[int, ...]) -> Reason:
        found = []
        for operand in _operands(node):
            operand_value = self._explainer.value(operand, self._device, wrap, scope)
            if operand_value.__class__ is not CelError and operand_value is not MISSING:
                is_missing = self._is_missing(operand, wrap, scope)
                found.append((_label(operand), "missing" if is_missing else _shown(operand_value)))
        seen = tuple(dict.fromkeys(found))
        details = map(_is, seen) if seen else dict.fromkeys(self._absent(node))
        outcome = f"is {_shown(value)}"
        verdict = outcome if isinstance(value, bool) else "is not true"
        wanted = _wanted(node, value) if len(seen) == 1 else ""
        return Reason(_quoted(node), node.position, outcome, tuple(details), verdict, seen, wanted)

    def _is_missing(self, node: Node, wrap: _Wrap, scope: tuple[int, ...]) -> bool:
        """Whether a part is what `orValue` gives where the device has no such attribute."""
        if not isinstance(node, Call) or node.target is None or node.function != "orValue":
            return False
        return self._explainer.value(node.target, self._device, wrap, scope) is NONE

    def _absent(self, node: Node) -> list[str]:
        """What a test for presence has not found."""
        tested = presence_test(node)
        if tested is None:
            return []
        map_ = device_map(tested[0]) if isinstance(node, Call) else ""
        return [f"its domains are {_listed(self._domains(map_))}"] if map_ else self._missing(*tested)

    def _domains(self, map_: str) -> Any:
        return self._device.attributes if map_ == ATTRIBUTES else self._device.capacity

    def _failure(self, node: Node, error: CelError, wrap: _Wrap, scope: tuple[int, ...]) -> Reason:
        """The innermost part that fails by itself."""
        for child in _evaluated(node):
            value = self._explainer.value(child, self._device, wrap, scope)
            if value.__class__ is CelError:
                return self._failure(child, value, wrap, scope)
        details = []
        found = member(node)
        if found is not None and error.message.startswith("no such key:"):
            details = self._missing(found[0], found[1])
        if not details:
            for operand in _operands(node):
                seen = self._explainer.value(operand, self._device, wrap, scope)
                if seen.__class__ is not CelError and seen is not MISSING:
                    details.append(f"{_label(operand)} is {_shown(seen)} ({_type(seen)})")
        outcome = f"fails: {error.message}"
        return Reason(_quoted(node), node.position, outcome, tuple(dict.fromkeys(details)), "fails")

    def _missing(self, operand: Node, name: str) -> list[str]:
        """What there is in place of an attribute or capacity that is not there."""
        if isinstance(operand, Ident):
            operand = self._explainer.bound.get(operand.name, operand)
        domain = domain_of(operand)
        if domain is None:
            return []
        map_, domain_name, _ = domain
        domains = self._domains(map_)
        noun, nouns = ("attribute", "attributes") if map_ == ATTRIBUTES else ("capacity", "capacities")
        entries = domains.get(domain_name)
        if entries is not None and name in entries:
            return []
        if entries:
            has = f"; it has {_listed(entries)}"
            return [f'the device has no {noun} "{name}" in the domain "{domain_name}"{has}']
        has = f"; it has the domains {_listed(domains)}" if domains else ""
        return [f'the device has no {nouns} in the domain "{domain_name}"{has}']


def _bound_once(root: Node) -> dict[str, Node]:
    values: dict[str, list[Node]] = {}
    for node in walk(root):
        if isinstance(node, Comprehension):
            if node.macro == "bind":
                values.setdefault(node.accu_var, []).append(node.accu_init)
            else:
                for name in (node.iter_var, node.iter_var2, node.accu_var):
                    values.setdefault(name, []).extend((node, node))
    return {name: found[0] for name, found in values.items() if len(found) == 1}


def _terms(node: Node, function: str) -> Iterator[Node]:
    if isinstance(node, Call) and node.function == function:
        for arg in node.args:
            yield from _terms(arg, function)
    else:
        yield node


def _binding(node: Comprehension, wrap: _Wrap) -> _Wrap:
    """Puts the variable of a `cel.bind` around a part of what it is for."""

    def bound(part: Node) -> Node:
        variables = (node.iter_var, node.iter_var2)
        parts = (node.accu_init, node.condition, node.step)
        whole = Comprehension(
            node.position, node.macro, node.iter_range, variables, node.accu_var, *parts, part
        )
        whole.type = part.type
        return wrap(whole)

    return bound


def _evaluated(node: Node) -> Iterator[Node]:
    """The parts that are evaluated before the node and without variables of its own."""
    if isinstance(node, Comprehension):
        yield node.accu_init if node.macro == "bind" else node.iter_range
        return
    for child in children(node):
        if not isinstance(child, (Literal, Ident)) and not device_map(child):
            yield child


def _operands(node: Node) -> Iterator[Node]:
    """The parts whose values explain the node's: those that depend on the device, look-ups rather than calls."""
    if isinstance(node, Comprehension):
        yield node.iter_range
    elif isinstance(node, Call):
        for child in children(node):
            if _is_lookup(child) or not isinstance(child, Call):
                if _depends(child) and domain_of(child) is None and not device_map(child):
                    yield child
            else:
                yield from _operands(child)
    elif isinstance(node, Select) and not (
        node.test_only or isinstance(node.operand, Ident) or _is_lookup(node)
    ):
        yield node.operand


def _is_lookup(node: Node) -> bool:
    return looked_up(node) is not None


def _is_named(node: Node) -> bool:
    """Whether the part is an attribute, a capacity or the driver of the device."""
    return _is_lookup(node) or (isinstance(node, Select) and isinstance(node.operand, Ident))


def _depends(node: Node) -> bool:
    """Whether a variable occurs in the part."""
    return any(
        isinstance(part, Ident) and part.value is None and (part.type is None or part.type.kind != TYPE)
        for part in walk(node)
    )


#: Comparisons, and what they are with their sides exchanged; equality is understood.
_COMPARISONS = {"_==_": "", "_!=_": "not ", "_<_": "< ", "_<=_": "<= ", "_>_": "> ", "_>=_": ">= "}
_EXCHANGED = {"_<_": "_>_", "_<=_": "_>=_", "_>_": "_<_", "_>=_": "_<=_"}
_OPPOSITES = {"_==_": "_!=_", "_!=_": "_==_", "_<_": "_>=_", "_<=_": "_>_", "_>_": "_<=_", "_>=_": "_<_"}
_DISTINCT = {True: "not one of ", False: "one of "}


def _wanted(node: Node, value: Any) -> str:
    """What a look-up would have to be for a comparison with a constant not to give this value."""
    if not isinstance(node, Call) or not isinstance(value, bool) or len(node.args) != 2:
        return ""
    (one, other), function = node.args, node.function
    if function == "@in" and _is_named(one) and isinstance(other, ListLiteral):
        constants = all(isinstance(each, Literal) for each in other.elements)
        return _DISTINCT[value] + ", ".join(map(_quoted, other.elements)) if constants else ""
    if isinstance(one, Literal):
        one, other, function = other, one, _EXCHANGED.get(function, function)
    if function not in _COMPARISONS or not _is_named(one) or not isinstance(other, Literal):
        return ""
    return _COMPARISONS[_OPPOSITES[function] if value else function] + _quoted(other)


def _is(seen: tuple[str, str]) -> str:
    return f"{seen[0]} is {seen[1]}"


def _label(node: Node) -> str:
    lookup = looked_up(node)
    if lookup is not None:
        return lookup.name
    if isinstance(node, Select) and isinstance(node.operand, Ident):
        return node.field
    return _quoted(node)


def _quoted(node: Node) -> str:
    return unparse(node, _MAX_TEXT)


def _listed(names: Any) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - _MAX_LISTED} more" if len(ordered) > _MAX_LISTED else ""
    return ", ".join(f'"{name}"' for name in ordered[:_MAX_LISTED]) + more


def _shown(value: Any) -> str:
    """A value as one would write it in an expression, as far as that is short."""
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
    elif value.__class__ is list and all(isinstance(element, str) for element in value):
        text = json.dumps(value[:_MAX_TEXT], ensure_ascii=False)
    elif value is None:
        text = "null"
    else:
        text = show(value)
    return shortened(text, _MAX_TEXT)


def _type(value: Any) -> str:
    from deviceselectors.runtime.values import type_name

    return type_name(value).rpartition(".")[2].lower()
