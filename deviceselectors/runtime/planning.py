"""What is computed once, before any evaluation: constants, constant sets, and literal regular expressions.

cel-go computes conversions of constants (`int("5")`, `duration("1h")`), constant lists and maps, and looks up elements
in constant lists by hash; an error in one of them makes the program as a whole impossible. That these things cost
nothing at run time is why they have to be the same here.
"""

from __future__ import annotations

from typing import Any

from deviceselectors import types as static
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
from deviceselectors.libraries import known
from deviceselectors.libraries.calls import resolve, with_constant_pattern
from deviceselectors.libraries.function import Run
from deviceselectors.runtime import effort, operators
from deviceselectors.runtime.regex_syntax import RegexError
from deviceselectors.runtime.shapes import operands
from deviceselectors.runtime.showing import not_optional_element, not_optional_entry
from deviceselectors.runtime.values import CelError, CelPanic, TypeValue, Uint

_INDEXING = frozenset(("_[_]", "_[?_]", "_?._"))


#: cel-go panics over an `in` whose list is a literal that fails.
_IN_FAILURE = "panic: interface conversion: *types.Err is not traits.Lister: missing method Add"


class ProgramError(ValueError):
    """The expression compiles but cannot be made into a program; the text is kube-apiserver's."""


class Plan:
    """A checked expression with what is known before its evaluation.

    Per node (by `id`): `constants` the value of constant nodes (a CelError where computing it fails without making the
    program impossible: `["a", ?dyn("b")]`), `members` the sets for a look-up in a constant list,
    `patterns` the function for a call with a literal regular expression.
    """

    __slots__ = ("constants", "members", "patterns", "root")

    def __init__(self, root: Node) -> None:
        """Compute what is constant.

        :raises ProgramError: if the server cannot make a program of the expression
        """
        self.root = root
        self.constants: dict[int, Any] = {}
        self.members: dict[int, dict[type, frozenset[Any]]] = {}
        self.patterns: dict[int, Run] = {}
        effort.begin()
        try:
            self._visit(root)
        except CelError as error:
            raise ProgramError(f"program instantiation failed: {error.message}") from None
        except CelPanic as panic:
            raise ProgramError(f"panic: {panic.reason}") from None
        except RegexError as error:
            raise ProgramError(f"program instantiation failed: {error}") from None

    def is_constant(self, node: Node) -> bool:
        """Whether the value of a node is known."""
        return id(node) in self.constants

    def _visit(self, node: Node) -> None:
        _VISITS[node.kind](self, node)

    def _visit_literal(self, node: Literal) -> None:
        value = node.value
        self.constants[id(node)] = Uint(value) if node.literal_type.kind == static.UINT else value  # type: ignore[arg-type]

    def _visit_ident(self, node: Ident) -> None:
        if node.value is not None:
            self.constants[id(node)] = node.value
        elif node.type is not None and node.type.kind == static.TYPE:
            self.constants[id(node)] = _type_value(node)

    def _visit_select(self, node: Select) -> None:
        self._visit(node.operand)

    def _visit_call(self, node: Call) -> None:
        arguments = operands(node)
        for argument in arguments:
            self._visit(argument)
        name = node.function
        function = known(name)
        if function.folds:
            self._fold_conversion(node, arguments)
        elif name == "@in" and node.overloads == ("in_list",):
            self._fold_membership(node)
        elif function.search is not None:
            pattern = self.constants.get(id(arguments[1]))
            if pattern.__class__ is str:
                self.patterns[id(node)] = with_constant_pattern(function.search, pattern)
        elif name in _INDEXING and self.is_constant(arguments[1]):
            invalid = operators.invalid_qualifier(self.constants[id(arguments[1])])
            if invalid is not None:
                raise invalid

    def _fold_conversion(self, node: Call, arguments: list[Node]) -> None:
        if len(arguments) == 1 and self.is_constant(arguments[0]):
            argument = self.constants[id(arguments[0])]
            if argument.__class__ is CelError:
                raise argument
            self.constants[id(node)] = resolve(node.function, node.overloads)(argument)

    def _fold_membership(self, node: Call) -> None:
        container = node.args[1]
        if not self.is_constant(container):
            return
        elements = self.constants[id(container)]
        if elements.__class__ is CelError:
            raise ProgramError(_IN_FAILURE)
        if not elements:
            self.constants[id(node)] = False
            return
        members = operators.set_membership(elements)
        if members is not None:
            self.members[id(node)] = members

    def _visit_list(self, node: ListLiteral) -> None:
        for element in node.elements:
            self._visit(element)
        if not all(self.is_constant(e) for e in node.elements):
            return
        values = [self.constants[id(e)] for e in node.elements]
        failures = [
            value if value.__class__ is CelError else not_optional_element(value)
            for index, value in enumerate(values)
            if value.__class__ is CelError or index in node.optionals  # a constant is never an optional
        ]
        self.constants[id(node)] = failures[0] if failures else values

    def _visit_map(self, node: MapLiteral) -> None:
        for entry in node.entries:
            self._visit(entry.key)
            self._visit(entry.value)
        if not all(self.is_constant(e.key) and self.is_constant(e.value) for e in node.entries):
            return
        pairs = [(self.constants[id(e.key)], self.constants[id(e.value)]) for e in node.entries]
        for (key, value), entry in zip(pairs, node.entries, strict=True):
            failure = next((part for part in (key, value) if part.__class__ is CelError), None)
            if failure is None and entry.optional:
                failure = not_optional_entry(key, value)
            if failure is not None:
                self.constants[id(node)] = failure
                return
        self.constants[id(node)] = operators.map_literal(pairs)

    def _visit_struct(self, node: StructLiteral) -> None:
        for field in node.fields:
            self._visit(field.value)

    def _visit_comprehension(self, node: Comprehension) -> None:
        for part in (node.accu_init, node.iter_range, node.condition, node.step, node.result):
            self._visit(part)


_VISITS: list[Any] = [
    None,
    Plan._visit_literal,
    Plan._visit_ident,
    Plan._visit_select,
    Plan._visit_call,
    Plan._visit_list,
    Plan._visit_map,
    Plan._visit_struct,
    Plan._visit_comprehension,
]


def _type_value(node: Ident) -> TypeValue:
    from deviceselectors.declarations import NAMED_TYPES, RUNTIME_TYPES

    name = node.name.lstrip(".")
    named = NAMED_TYPES.get(name)
    if named is None or name not in RUNTIME_TYPES:
        # also a variable that holds a type: cel-go takes it for the name of one
        raise CelError(f"reference to undefined type: {node.name}")
    return TypeValue(named.name, named.output)


def is_binding(node: Comprehension, plan: Plan) -> bool:
    """Whether a comprehension is no loop but binds its accumulator: `cel.bind`, `optMap`, `optFlatMap`, `sortBy`."""
    return node.iter_var == "#unused" and plan.constants.get(id(node.iter_range)) == []
