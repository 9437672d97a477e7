"""Dotted names: selects that spell the name of a type, constant or variable, like `google.protobuf.Duration`."""

from __future__ import annotations

from functools import cache

from deviceselectors.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from deviceselectors.declarations import ENUM_CONSTANTS, TYPE_NAMES, find_type, variables
from deviceselectors.environment import Environment


@cache
def _first_parts(environment: Environment) -> frozenset[str]:
    """The first parts of all dotted names; where none of them occurs in a source there is nothing to resolve."""
    names = (*TYPE_NAMES, *ENUM_CONSTANTS, *variables(environment))
    return frozenset(name.partition(".")[0] for name in names if "." in name)


#: The first release (minor number) in which the variable of a loop hides dotted names that begin with it, and a dot in
#: front of a name means the global one.
GLOBAL_NAMES_SINCE = 37


def qualified_name(node: Node) -> str | None:
    """The dotted name that an identifier or a chain of selects spells, or None for anything else."""
    names: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        names.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    names.append(node.name)
    return ".".join(reversed(names))


def resolve_dotted_names(root: Node, text: str, environment: Environment) -> Node:
    """The expression with identifiers in place of the selects that spell names of types, constants or variables."""
    if not any(part in text for part in _first_parts(environment)):
        return root
    return _Resolver(environment).resolve(root)


class _Resolver:
    """A walk that knows the variables of the loops around a node, because they hide global names."""

    __slots__ = ("_environment", "_globals", "_hides", "_variables")

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._globals = variables(environment)
        self._hides = environment.server >= GLOBAL_NAMES_SINCE
        self._variables: list[str] = []

    def resolve(self, node: Node) -> Node:
        if isinstance(node, Select):
            return self._resolve_select(node)
        if isinstance(node, Call):
            node.args = [self.resolve(arg) for arg in node.args]
            if node.target is not None:
                node.target = self.resolve(node.target)
        elif isinstance(node, ListLiteral):
            node.elements = [self.resolve(element) for element in node.elements]
        elif isinstance(node, MapLiteral):
            for entry in node.entries:
                entry.key, entry.value = self.resolve(entry.key), self.resolve(entry.value)
        elif isinstance(node, StructLiteral):
            for field in node.fields:
                field.value = self.resolve(field.value)
        elif isinstance(node, Comprehension):
            self._resolve_comprehension(node)
        return node

    def _is_global(self, name: str) -> bool:
        if name in self._globals or name in ENUM_CONSTANTS:
            return True
        return name in TYPE_NAMES and find_type(name, self._environment) is not None

    def _resolve_select(self, node: Select) -> Node:
        name = qualified_name(node)
        if name is not None:
            plain = name.lstrip(".")
            is_hidden = self._hides and name == plain and plain.partition(".")[0] in self._variables
            if not is_hidden and self._is_global(plain):
                return Ident(node.position, name)
        node.operand = self.resolve(node.operand)
        return node

    def _resolve_comprehension(self, node: Comprehension) -> None:
        node.iter_range = self.resolve(node.iter_range)
        node.accu_init = self.resolve(node.accu_init)
        self._variables += [node.accu_var, node.iter_var, node.iter_var2]
        node.condition = self.resolve(node.condition)
        node.step = self.resolve(node.step)
        del self._variables[-2:]
        node.result = self.resolve(node.result)
        self._variables.pop()
