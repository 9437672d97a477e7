"""What the server computes of an expression when it makes a program of it, and so may fail at.

Only a quick look, so that `deviceselectors.runtime.planning` is asked about few expressions.
"""

from __future__ import annotations

from deviceselectors.ast import LIST, MAP, Call, Ident, Literal, MapLiteral, Node
from deviceselectors.declarations import TYPE_NAMES
from deviceselectors.types import BOOL, BYTES, INT, STRING, UINT

_CONVERSIONS = frozenset(("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"))
_CONSTANT_CALLS = _CONVERSIONS | {"dyn", "type"}
_INDEXING = frozenset(("_[_]", "_[?_]"))
_SIMPLE_INDEXES = frozenset((BOOL, INT, STRING, UINT))
#: The functions whose calls are worth asking `call_may_fail` about.
FUNCTIONS = _CONVERSIONS | _INDEXING | {"find", "findAll", "matches"}


def call_may_fail(node: Call) -> bool:
    """Whether a call is a conversion of a constant, or has a constant pattern or an odd index."""
    function, args = node.function, node.args
    if function in _INDEXING:
        return _is_odd_index(args[1])
    if function in _CONVERSIONS:
        return any(_may_be_constant(arg) for arg in args)
    if function == "matches" and node.target is not None:
        # The pattern has been checked before.
        return False
    return any(isinstance(arg, Literal) for arg in args)


def map_may_fail(node: MapLiteral) -> bool:
    """Whether a map has keys that no map of constants can have."""
    return any(
        isinstance(entry.key, Literal) and entry.key.literal_type.kind == BYTES for entry in node.entries
    )


def _may_be_constant(node: Node) -> bool:
    if isinstance(node, Call):
        return node.function in _CONSTANT_CALLS
    return isinstance(node, Literal) or node.kind in (LIST, MAP)


def _is_odd_index(node: Node) -> bool:
    if isinstance(node, Literal):
        return node.literal_type.kind not in _SIMPLE_INDEXES
    if isinstance(node, Ident):
        return node.name.lstrip(".") in TYPE_NAMES
    return _may_be_constant(node)
