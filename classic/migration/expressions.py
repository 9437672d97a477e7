"""Selectors as trees: expressions of named resources in terms of devices, and conditions put together from values.

No text is ever replaced or pasted: an expression is parsed, its tree changed, and the tree written as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deviceselectors.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import environment_of
from deviceselectors.issues import Issues, Source
from deviceselectors.parser import allow_deep_recursion, parse
from deviceselectors.types import BOOL_TYPE, DOUBLE_TYPE, INT_TYPE, STRING_TYPE
from deviceselectors.unparsing import unparse
from resourceapi.limits import CEL_EXPRESSION_BYTES, IDENTIFIER_BYTES

#: The maps of named resources by what a device has instead.
_ATTRIBUTES = ("bool", "int", "string", "version")
_LISTS = ("intslice", "stringslice")
_CAPACITY = "quantity"
#: What stands for the value of a parameter in the expressions of a mapping.
VALUE = "value"
_OPERATORS = {
    "Equals": "_==_",
    "LessThan": "_<_",
    "LessThanOrEqualTo": "_<=_",
    "GreaterThan": "_>_",
    "GreaterThanOrEqualTo": "_>=_",
}
_identifier = re.compile("[A-Za-z_][A-Za-z0-9_]*").fullmatch


class ExpressionError(Exception):
    """An expression that has no equivalent for devices."""


def of_driver(driver: str) -> str:
    """The condition that a device is one of a driver."""
    return unparse(_is_of(driver))


def of_drivers(drivers: list[str]) -> str:
    """The condition that a device is one of several drivers."""
    return unparse(Call(0, "@in", [_driver(), ListLiteral(0, [_text(name) for name in drivers])]))


def unless_of_driver(driver: str, expression: str) -> str:
    """The condition, which only the devices of a driver have to meet."""
    other = Call(0, "_!=_", [_driver(), _text(driver)])
    return unparse(Call(0, "_||_", [other, _parsed(expression)]))


def for_devices(expression: str, driver: str, names: Mapping[str, str]) -> str:
    """A selector of named resources as a selector of devices.

    :param driver: the driver of the devices.
    :param names: what attributes are called now, where that is not :func:`attribute_name`.
    :raises ExpressionError: if there is no equivalent.
    """
    return _checked(_Rewriter(driver, names).node(_parsed(expression)))


def attribute_name(name: str, names: Mapping[str, str]) -> str:
    """What an attribute of named resources is called now: a C identifier, ``driver-version`` becomes ``driverVersion``.

    :raises ExpressionError: if it cannot be made one.
    """
    first, *others = re.split(r"[-.]", names.get(name, name))
    identifier = first + "".join(word[:1].upper() + word[1:] for word in others)
    if _identifier(identifier) is None or len(identifier) > IDENTIFIER_BYTES:
        raise ExpressionError(
            f"{name!r} can be no name of an attribute: it would have to be a C identifier of at most "
            f"{IDENTIFIER_BYTES} characters"
        )
    return identifier


def with_value(expression: str, value: Any, *, is_comparison: bool = False) -> Node:
    """An expression of a mapping with the value of a parameter in it.

    :param is_comparison: whether the value has an operator and a value, and the expression is compared with 0.
    :raises ExpressionError: if the value is none that a condition can have.
    """
    operator = ""
    if is_comparison:
        if not isinstance(value, dict):
            raise ExpressionError("expected a value and an operator")
        operator = _OPERATORS.get(str(value.get("operator")), "")
        if not operator:
            raise ExpressionError(f"expected one of the operators {', '.join(_OPERATORS)}")
        value = value.get("value")
    tree = _Substitution(_literal(value)).node(_parsed(expression))
    return Call(0, operator, [tree, Literal(0, 0, INT_TYPE)]) if operator else tree


def joined(trees: list[Node], operator: str) -> Node:
    """Conditions connected by ``_&&_`` or ``_||_``.

    :raises ExpressionError: if they are longer than a selector can be.
    """
    tree, *others = trees
    if not others:
        return tree
    room = _Room()
    room.take(unparse(tree))
    for other in others:
        room.take(unparse(other))
        tree = Call(0, operator, [tree, other])
    return tree


def condition(tree: Node) -> str:
    """A condition as text.

    :raises ExpressionError: if no API server would accept it.
    """
    return _checked(tree)


def pattern_of_glob(glob: str) -> str:
    """The regular expression for a pattern with ``*``, in lower case.

    :raises ExpressionError: if it is longer than a selector can be.
    """
    _Room().take(glob)
    return "^" + ".*".join(_quoted(part) for part in glob.lower().split("*")) + "$"


def problem_of(expression: str, *, is_comparison: bool = False) -> str:
    """Why an expression of a mapping is none, whatever the value will be; empty if it is one.

    :param is_comparison: whether the expression is compared with 0.
    """
    try:
        tree = _Substitution(Call(0, "dyn", [_text(VALUE)])).node(_parsed(expression))
        _checked(Call(0, "_==_", [tree, Literal(0, 0, INT_TYPE)]) if is_comparison else tree)
    except ExpressionError as error:
        return str(error)
    return ""


def _quoted(text: str) -> str:
    return "".join(c if c.isalnum() or c in " _-" else f"[{c}]" if c not in "^\\" else f"\\{c}" for c in text)


class _Room:
    """What a selector has room for: counted before its text is put together, as a value may be in it many times."""

    def __init__(self) -> None:
        self._left = CEL_EXPRESSION_BYTES

    def take(self, text: str) -> None:
        """Take the room for a text.

        :raises ExpressionError: if there is not enough left.
        """
        self._left -= len(text.encode("utf-8", "surrogatepass"))
        if self._left < 0:
            raise ExpressionError(
                f"longer than {CEL_EXPRESSION_BYTES:,} bytes, as much as a selector can have now"
            )


def _parsed(expression: str) -> Node:
    _Room().take(expression)
    issues = Issues(Source(expression))
    tree = parse(issues)
    if issues.count:
        _, column, message = issues.locations()[0]
        raise ExpressionError(f"no CEL: column {column}: {message}")
    return tree


def _checked(tree: Node) -> str:
    """The text of a tree, which must be a selector that an API server accepts."""
    allow_deep_recursion()
    text = unparse(tree)
    _Room().take(text)
    compiled = compile_expression(text, environment_of(True, False, False))
    if compiled.error is not None:
        lines = compiled.error.removeprefix("compilation failed: ").splitlines()
        raise ExpressionError(f"no selector of devices: {lines[0] if lines else ''}")
    if compiled.is_too_complex:
        raise ExpressionError("as a selector of devices it exceeds the limit of costs")
    return text


class _Copier:
    """Makes a tree anew; subclasses change parts of it."""

    def node(self, node: Node) -> Node:
        allow_deep_recursion()
        if isinstance(node, Select):
            return Select(0, self.node(node.operand), node.field, node.test_only)
        if isinstance(node, Call):
            target = None if node.target is None else self.node(node.target)
            return Call(0, node.function, [self.node(each) for each in node.args], target)
        if isinstance(node, ListLiteral):
            return ListLiteral(0, [self.node(each) for each in node.elements], node.optionals)
        if isinstance(node, MapLiteral):
            for entry in node.entries:
                entry.key, entry.value = self.node(entry.key), self.node(entry.value)
        elif isinstance(node, StructLiteral):
            for field in node.fields:
                field.value = self.node(field.value)
        elif isinstance(node, Comprehension):
            self.enter(node)
            for name in ("iter_range", "accu_init", "condition", "step", "result"):
                setattr(node, name, self.node(getattr(node, name)))
        return node

    def enter(self, node: Comprehension) -> None:
        """A loop begins, with variables of its own."""


class _Rewriter(_Copier):
    """Writes ``device.attributes["driver"].name`` for ``attributes.string["name"]``, and the like."""

    def __init__(self, driver: str, names: Mapping[str, str]) -> None:
        self._driver = driver
        self._names = names

    def node(self, node: Node) -> Node:
        if isinstance(node, Select) and (kind := _kind(node.operand)):
            return Select(0, self._domain(kind), self._name(node.field), node.test_only)
        if isinstance(node, Call) and node.args:
            first, last = node.args[0], node.args[-1]
            if node.function in ("_[_]", "_[?_]", "_?._") and (kind := _kind(first)):
                name = self._name(_constant(last))
                if node.function == "_[_]":
                    return Select(0, self._domain(kind), name)
                return Call(0, node.function, [self._domain(kind), _text(name)])
            if node.function == "@in" and (kind := _kind(last)):
                return Call(0, "@in", [_text(self._name(_constant(first))), self._domain(kind)])
        if _kind(node) or (isinstance(node, Ident) and node.name.lstrip(".") == "attributes"):
            raise ExpressionError("attributes as a whole, not one by its name, have no equivalent")
        return super().node(node)

    def enter(self, node: Comprehension) -> None:
        for name in (node.iter_var, node.iter_var2, node.accu_var):
            if name in ("attributes", "device"):
                raise ExpressionError(f"a variable with the name {name} stands in the way")

    def _domain(self, kind: str) -> Node:
        if kind in _LISTS:
            raise ExpressionError(
                f"attributes.{kind}: attributes that are lists need the feature gate DRAListTypeAttributes"
            )
        field = "capacity" if kind == _CAPACITY else "attributes"
        return Call(0, "_[_]", [Select(0, Ident(0, "device"), field), _text(self._driver)])

    def _name(self, name: str) -> str:
        return attribute_name(name, self._names)


class _Substitution(_Copier):
    """Puts a literal, or another node, where an expression has the name ``value``."""

    def __init__(self, replacement: Node) -> None:
        self._replacement = replacement
        self._text = str(replacement.value) if isinstance(replacement, Literal) else ""
        self._room = _Room()

    def node(self, node: Node) -> Node:
        if isinstance(node, Ident) and node.name == VALUE:
            self._room.take(self._text)
            return self._replacement
        return super().node(node)


def _kind(node: Node) -> str:
    """The type that a map of named resources has in its name: ``int`` for ``attributes.int``; else empty."""
    if isinstance(node, Select) and not node.test_only and isinstance(node.operand, Ident):
        kinds = (*_ATTRIBUTES, *_LISTS, _CAPACITY)
        if node.operand.name.lstrip(".") == "attributes" and node.field in kinds:
            return node.field
    return ""


def _constant(node: Node) -> str:
    if isinstance(node, Literal) and isinstance(node.value, str):
        return node.value
    raise ExpressionError("the name of an attribute that is worked out has no equivalent")


def _literal(value: Any) -> Literal:
    if isinstance(value, bool):
        return Literal(0, value, BOOL_TYPE)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return Literal(0, value, INT_TYPE)
    if isinstance(value, float):
        return Literal(0, value, DOUBLE_TYPE)
    raise ExpressionError("expected a string, a number or a boolean")


def _text(value: str) -> Literal:
    return Literal(0, value, STRING_TYPE)


def _driver() -> Node:
    return Select(0, Ident(0, "device"), "driver")


def _is_of(driver: str) -> Node:
    return Call(0, "_==_", [_driver(), _text(driver)])
