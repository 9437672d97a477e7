"""What is computed once, before any evaluation: constants, constant sets, and literal regular expressions.

cel-go computes conversions of constants (`int("5")`, `duration("1h")`), constant lists and maps, and looks up elements
in constant lists by hash; an error in one of them makes the program as a whole impossible. That these things cost
nothing at run time is why they have to be the same here.
"""

from __future__ import annotations

from typing import Any, TypeGuard

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
from deviceselectors.libraries.function import Function, Run
from deviceselectors.runtime import effort, operators
from deviceselectors.runtime.regex_syntax import RegexError
from deviceselectors.runtime.showing import not_optional_element, not_optional_entry
from deviceselectors.runtime.values import CelError, CelPanic, TypeValue, Uint

# How a tree is read for its evaluation, where that is other than node by node.
# Accesses that follow each other belong together, so do the operands of a chain of the same logical
# operator; some calls end with the first error among their arguments.

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
