"""How a tree is read for its evaluation, where that is other than node by node.

Accesses that follow each other belong together, so do the operands of a chain of the same logical operator; some calls end with the
first error among their arguments.
"""

from __future__ import annotations

from typing import TypeGuard

from deviceselectors.ast import Call, Node, Select
from deviceselectors.libraries.function import Function

_ACCESS = frozenset(("_[_]", "_[?_]", "_?._"))


def is_call(node: Node, name: str) -> bool:
    """Whether a node is a call of that function."""
    return isinstance(node, Call) and node.function == name


def is_access(node: Node) -> bool:
    """Whether a node is an access to a field or element."""
    if isinstance(node, Select):
        return not node.test_only
    return isinstance(node, Call) and node.function in _ACCESS


def is_presence(node: Node) -> TypeGuard[Select]:
    """Whether a node is `has(operand.field)`.

    In a branch of `?:` and as a key, cel-go takes the chain of accesses within such a node without the test around it. Of
    an optional the chain then gives an optional of what the field holds, not whether there is one.
    """
    return isinstance(node, Select) and node.test_only


def gets_unit_back(node: Select) -> bool:
    """Whether `has(operand.field)` takes a unit off the cost, though nothing has been paid for it.

    Accesses that follow each other cost a unit together, `has` gives that back. Those to a `?:` do without in the first place.
    """
    base, _ = split_access(node.operand)
    return is_call(base, "_?_:_")


def split_access(node: Node) -> tuple[Node, list[tuple[Node | str, bool]]]:
    """The innermost object and the accesses to it: a field name or the node of a key, and whether it is optional."""
    steps: list[tuple[Node | str, bool]] = []
    while is_access(node):
        if isinstance(node, Select):
            steps.append((node.field, False))
            node = node.operand
        else:
            assert isinstance(node, Call)
            key = node.args[1]
            constant = getattr(key, "value", None)
            steps.append((constant if constant.__class__ is str else key, node.function != "_[_]"))
            node = node.args[0]
    steps.reverse()
    return node, steps


def flatten(node: Call) -> list[Node]:
    """The operands of a chain of the same logical operator."""
    terms: list[Node] = []
    stack: list[Node] = [node]
    while stack:
        term = stack.pop()
        if is_call(term, node.function):
            stack.extend(reversed(term.args))  # type: ignore[attr-defined]
        else:
            terms.append(term)
    return terms


def operands(node: Call) -> list[Node]:
    """The arguments of a call, its target before them."""
    return node.args if node.target is None else [node.target, *node.args]


def exits_early(node: Call, function: Function) -> bool:
    """Whether an error in an argument ends the call before the following ones are evaluated."""
    if function.stops_at_error or len(node.args) + (node.target is not None) > 2:
        return True
    return function.run is None and len(node.overloads) != 1
