"""Lints for one selector without an inventory: CC007, CC012, and the look-ups that CC011 and CC015 need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from advice.lints.table import AS_TEXT, CONSTANT, TYPE_LOOKUP, Lint
from deviceselectors.ast import Call, Literal, Node, Select
from deviceselectors.lookups import ATTRIBUTES, Key, Lookup, as_lookup, domain_of, member, unguarded, walk

if TYPE_CHECKING:
    from advice.lints.constants import Constant
    from deviceselectors.environment import Environment

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
        self,
        lint: Lint,
        position: int,
        length: int,
        message: str,
        hint: str,
        version: Lookup | None = None,
    ) -> None:
        self.lint = lint
        self.position = position
        self.length = length
        self.message = message
        self.hint = hint
        self.version = version


class Expression:
    """A selector that compiles, with the remarks that hold whatever the devices are."""

    __slots__ = ("constant", "deserves_note", "lookups", "remarks", "root", "text", "unguarded")

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
    from advice.lints.constants import outcome

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
