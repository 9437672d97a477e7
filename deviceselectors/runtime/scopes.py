"""Variables while an expression is interpreted: those of macros, each hiding others of its name further out."""

from __future__ import annotations

from typing import Any

from deviceselectors.ast import Node
from deviceselectors.runtime.values import MISSING


class Scope:
    """One variable, and the scope around it; never changed, so that who holds it sees the variables of that place."""

    __slots__ = ("name", "outer", "value")

    def __init__(self, outer: Scope | None, name: str, value: Any) -> None:
        self.outer = outer
        self.name = name
        self.value = value


class Binding:
    """A variable that is computed when it is first used: its node, the scope of that, and the value once there is one."""

    __slots__ = ("node", "scope", "value")

    def __init__(self, node: Node, scope: Scope | None) -> None:
        self.node = node
        self.scope = scope
        self.value: Any = MISSING


def find_variable(scope: Scope | None, name: str) -> Any:
    """What the innermost variable of that name holds, `MISSING` if there is none."""
    while scope is not None:
        if scope.name == name:
            return scope.value
        scope = scope.outer
    return MISSING
