"""What the server computes of an expression when it makes a program of it, and so may fail at.

Only a quick look, so that `deviceselectors.runtime.planning` is asked about few expressions.
"""

from __future__ import annotations

from deviceselectors.ast import LIST, MAP, Call, Ident, Literal, MapLiteral, Node
from deviceselectors.declarations import TYPE_NAMES
from deviceselectors.libraries import find
from deviceselectors.libraries.function import Function
from deviceselectors.types import BOOL, BYTES, INT, STRING, UINT

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
