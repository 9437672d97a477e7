"""Expressions so plain that their cost needs no estimate to be known to stay far below the limit.

Most selectors compare attributes with constants.  No part of such an expression costs more than looking at all its
constants once, so that its length bounds its cost.
"""

from __future__ import annotations

from deviceselectors.ast import CALL, IDENT, LITERAL, SELECT, Call, Node, Select

#: Up to this length the cost of a plain expression is below half a million: as many parts as characters at most, each
#: of which costs 2 and a tenth of the characters.
MAX_LENGTH = 2000

_CHEAP = frozenset(("_&&_", "_||_", "!_", "_[_]", "compareTo", "isGreaterThan", "isLessThan"))
_COMPARISONS = frozenset(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"))
_OF_CONSTANTS = frozenset(("quantity", "semver"))


def is_plain(text: str, root: Node) -> bool:
    """Whether a type-checked expression is short, and made of look-ups, constants and comparisons with these."""
    return len(text) <= MAX_LENGTH and _is_plain(root)


def _is_plain(node: Node) -> bool:
    while node.kind == SELECT:
        assert isinstance(node, Select)
        node = node.operand
    if node.kind != CALL:
        return node.kind == LITERAL or node.kind == IDENT
    assert isinstance(node, Call)
    function, args = node.function, node.args
    if function in _COMPARISONS:
        # The shorter side counts.
        if args[1].kind != LITERAL and args[0].kind != LITERAL:
            return False
    elif function in _OF_CONSTANTS:
        return len(args) == 1 and args[0].kind == LITERAL
    elif function not in _CHEAP:
        return False
    return (node.target is None or _is_plain(node.target)) and all(map(_is_plain, args))
