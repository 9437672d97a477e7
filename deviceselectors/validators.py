"""Checks of literals in an expression that has passed the type checker.

Lists and maps must not mix types; what a function checks of its literal arguments is in its library. Source: the
validators that kube-apiserver adds to its CEL environments since 1.29.
"""

from __future__ import annotations

from deviceselectors.ast import LIST, MAP, Call, Ident, ListLiteral, Literal, MapLiteral, Node, type_of_node
from deviceselectors.declarations import TYPE_NAMES, spelled
from deviceselectors.environment import Environment
from deviceselectors.issues import Issues, ServerPanicError
from deviceselectors.libraries import find, known
from deviceselectors.libraries.function import Function
from deviceselectors.runtime import effort
from deviceselectors.types import BOOL, BYTES, INT, STRING, UINT, Type

#: The functions that check their literal arguments, in the order in which the server does.
_CHECKED_FUNCTIONS = ("duration", "timestamp", "matches", "format")
#: The first release (minor number) that checks the literals of format strings.
_FORMATS_SINCE = 31


def validate_calls(nodes: list[Call], environment: Environment, issues: Issues) -> None:
    """Have the functions check the literal arguments of calls; what is wrong goes into `issues`."""
    if environment.server < _FORMATS_SINCE:
        nodes = [node for node in nodes if node.function != "format"]
    for node in sorted(nodes, key=lambda node: _CHECKED_FUNCTIONS.index(node.function)):
        check = known(node.function).literal_check
        assert check is not None
        effort.begin()  # what this thread has evaluated before counts against no later expression
        check(node, issues)


def validate_collection(node: Node, environment: Environment, issues: Issues) -> None:
    """Check that the parts of a list or map literal have one type; what is wrong goes into `issues`."""
    if isinstance(node, ListLiteral):
        _check_list(node, environment, issues)
    elif isinstance(node, MapLiteral):
        _check_map(node, environment, issues)


def _check_list(node: ListLiteral, environment: Environment, issues: Issues) -> None:
    expected: Type | None = None
    for index, element in enumerate(node.elements):
        t = type_of_node(element)
        if index in node.optionals:
            t = _optional_value(t)
        if expected is None:
            expected = t
        elif t != expected:
            _report_mismatch(element, expected, t, environment, issues)
            return


def _check_map(node: MapLiteral, environment: Environment, issues: Issues) -> None:
    expected: tuple[Type, Type] | None = None
    for entry in node.entries:
        key, value = type_of_node(entry.key), type_of_node(entry.value)
        if entry.optional:
            value = _optional_value(value)
        if expected is None:
            expected = key, value
            continue
        if key != expected[0]:
            _report_mismatch(entry.key, expected[0], key, environment, issues)
        if value != expected[1]:
            _report_mismatch(entry.value, expected[1], value, environment, issues)


def _optional_value(t: Type) -> Type:
    if not t.parameters:
        raise ServerPanicError("runtime error: index out of range [0] with length 0")
    return t.parameters[0]


def _report_mismatch(
    node: Node, expected: Type, actual: Type, environment: Environment, issues: Issues
) -> None:
    texts = spelled(expected, environment), spelled(actual, environment)
    issues.report(node.position, f"expected type '{texts[0]}' but found '{texts[1]}'")


# What the server computes of an expression when it makes a program of it, and so may fail at.
# Only a quick look, so that `deviceselectors.runtime.planning` is asked about few expressions.

_CANNOT_FAIL = frozenset(("dyn", "type"))
_INDEXING = frozenset(("_[_]", "_[?_]"))
_SIMPLE_INDEXES = frozenset((BOOL, INT, STRING, UINT))


def call_may_fail(node: Call, function: Function) -> bool:
    """Tell whether a call is a conversion of a constant, or has a constant pattern or an odd index."""
    if function.folds:
        return function.name not in _CANNOT_FAIL and any(_may_be_constant(arg) for arg in node.args)
    if function.search is not None:
        # The pattern has been checked before where it is the only argument of `matches`.
        is_checked = function.literal_check is not None and node.target is not None
        return not is_checked and any(isinstance(arg, Literal) for arg in node.args)
    return function.name in _INDEXING and _is_odd_index(node.args[1])


def map_may_fail(node: MapLiteral) -> bool:
    """Whether a map has keys that no map of constants can have."""
    return any(
        isinstance(entry.key, Literal) and entry.key.literal_type.kind == BYTES for entry in node.entries
    )


def _may_be_constant(node: Node) -> bool:
    if isinstance(node, Call):
        function = find(node.function)
        return function is not None and function.folds
    return isinstance(node, Literal) or node.kind in (LIST, MAP)


def _is_odd_index(node: Node) -> bool:
    if isinstance(node, Literal):
        return node.literal_type.kind not in _SIMPLE_INDEXES
    if isinstance(node, Ident):
        return node.name.lstrip(".") in TYPE_NAMES
    return _may_be_constant(node)
