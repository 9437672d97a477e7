"""Macros: calls that the parser replaces by something else.

`has` becomes a presence test, the others loops (`Comprehension`). Source: the CEL language definition, "Macros", and
cel-go 0.29 for two-variable comprehensions, `cel.bind`, optionals and `sortBy`.
"""

from __future__ import annotations

from collections.abc import Callable

from deviceselectors.ast import (
    CALL,
    COMPREHENSION,
    IDENT,
    LIST,
    SELECT,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Node,
    Select,
    StructField,
    StructLiteral,
)
from deviceselectors.types import BOOL_TYPE, INT_TYPE

#: The variable in which the loops of macros collect their result; no expression can name it.
ACCUMULATOR = "@result"
_NAMED_ACCUMULATOR = "__result__"
#: The first release (minor number) in which no expression can name the accumulator, and in which `optMap` copies.
_HIDDEN_SINCE, _COPIES_SINCE = 33, 32
_NO_VARIABLE = "#unused"
_SORT_VARIABLE = "@__sortBy_input__"
_SORTABLE = (LIST, SELECT, IDENT, COMPREHENSION, CALL)


#: Nodes that macros may copy in one expression. `optMap` copies its target, so a chain of them doubles with each; the
#: server has no limit and would be busy for hours.
_MAX_COPIES = 10_000


class MacroError(Exception):
    """A macro is used wrongly; `position` is that of the offending argument."""

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position
        self.message = message


class Macros:
    """The macros of one expression.

    :param release: of the server (a minor number)
    :param libraries: the release whose macros there are
    :param problems: where what is wrong with calls of macros goes, by position
    """

    __slots__ = ("_left", "_libraries", "_problems", "_release")

    def __init__(self, release: int, libraries: int, problems: list[tuple[int, str]]) -> None:
        self._release, self._libraries = release, libraries
        self._problems = problems
        self._left = _MAX_COPIES

    def call(self, position: int, function: str, target: Node | None, args: list[Node]) -> Node:
        """A call, or what it stands for if it is one of a macro; everything that the macro adds gets the call's position."""
        if function in NAMES:
            try:
                expanded = self._expand(position, function, target, args)
            except MacroError as error:
                self._problems.append((error.position, error.message))
                return Node(error.position)
            if expanded is not None:
                return expanded
        return Call(position, function, args, target)

    def _expand(self, position: int, function: str, target: Node | None, args: list[Node]) -> Node | None:
        if target is None:
            return _expand_has(position, args[0]) if function == "has" and len(args) == 1 else None
        if function in ("optMap", "optFlatMap") and len(args) == 2:
            return self._optional_map(position, function, target, args)
        known = _MEMBER_MACROS.get((function, len(args)))
        if known is None or known[0] > self._libraries:
            return None
        if (
            self._release < _HIDDEN_SINCE
            and isinstance(args[0], Ident)
            and args[0].name == _NAMED_ACCUMULATOR
        ):
            args = [Ident(args[0].position, ACCUMULATOR), *args[1:]]
        return known[1](position, function, target, args)

    def _optional_map(self, position: int, function: str, target: Node, args: list[Node]) -> Node:
        name = _variable(args[0], f"{function}() variable name must be a simple identifier")
        copied = self._copy(target, position)
        value = Call(position, "value", [], copied if self._release >= _COPIES_SINCE else target)
        mapped = _binding(position, function, name, value, args[1])
        if function == "optMap":
            mapped = Call(position, "optional.of", [mapped])
        has_value = Call(position, "hasValue", [], target)
        return Call(position, "_?_:_", [has_value, mapped, Call(position, "optional.none", [])])

    def _copy(self, node: Node, position: int) -> Node:
        """A copy of an expression that a macro uses twice; entries of literals get the macro's position."""
        self._left -= 1
        if self._left < 0:
            raise MacroError(position, "expression is too large after expansion of its macros")
        if isinstance(node, Literal):
            return Literal(node.position, node.value, node.literal_type)
        if isinstance(node, Ident):
            return Ident(node.position, node.name)
        if isinstance(node, Select):
            return Select(node.position, self._copy(node.operand, position), node.field, node.test_only)
        if isinstance(node, Call):
            target = None if node.target is None else self._copy(node.target, position)
            return Call(
                node.position, node.function, [self._copy(arg, position) for arg in node.args], target
            )
        if isinstance(node, ListLiteral):
            return ListLiteral(
                node.position, [self._copy(e, position) for e in node.elements], node.optionals
            )
        if isinstance(node, MapLiteral):
            entries = [
                MapEntry(position, self._copy(e.key, position), self._copy(e.value, position), e.optional)
                for e in node.entries
            ]
            return MapLiteral(node.position, entries)
        if isinstance(node, StructLiteral):
            fields = [
                StructField(position, f.name, self._copy(f.value, position), f.optional) for f in node.fields
            ]
            return StructLiteral(node.position, node.type_name, fields)
        if isinstance(node, Comprehension):
            parts = (node.iter_range, node.accu_init, node.condition, node.step, node.result)
            iter_range, *others = [self._copy(part, position) for part in parts]
            variables = (node.iter_var, node.iter_var2)
            return Comprehension(node.position, node.macro, iter_range, variables, node.accu_var, *others)
        return Node(node.position)


def show_accumulators(root: Node, text: str, release: int) -> None:
    """Give the accumulators of loops the name by which expressions of older releases can refer to them."""
    if release >= _HIDDEN_SINCE or _NAMED_ACCUMULATOR not in text:
        return
    from deviceselectors.lookups import walk  # few expressions need it

    for node in walk(root):
        if isinstance(node, Ident) and node.name == ACCUMULATOR:
            node.name = _NAMED_ACCUMULATOR
        elif isinstance(node, Comprehension):
            for variable in ("accu_var", "iter_var"):
                if getattr(node, variable) == ACCUMULATOR:
                    setattr(node, variable, _NAMED_ACCUMULATOR)


#: Names of macros; calls of other functions need not be looked at.
NAMES = frozenset((
    "has", "all", "exists", "exists_one", "existsOne", "map", "filter", "bind", "optMap", "optFlatMap", "sortBy",
    "transformList", "transformMap", "transformMapEntry",
))  # fmt: skip


def _expand_has(position: int, arg: Node) -> Node:
    if not isinstance(arg, Select):
        raise MacroError(arg.position, "invalid argument to has() macro")
    return Select(position, arg.operand, arg.field, test_only=True)


def _variable(arg: Node, complaint: str) -> str:
    if not isinstance(arg, Ident):
        raise MacroError(arg.position, complaint)
    return arg.name


def _iteration_variable(arg: Node, complaint: str) -> str:
    name = _variable(arg, complaint)
    _refuse_accumulator(arg, name)
    return name


def _refuse_accumulator(arg: Node, name: str) -> None:
    if name == _NAMED_ACCUMULATOR:
        raise MacroError(arg.position, "iteration variable overwrites accumulator variable")


def _two_variables(args: list[Node]) -> tuple[str, str]:
    first = _variable(args[0], "argument must be a simple name")
    second = _variable(args[1], "argument must be a simple name")
    if first == second:
        raise MacroError(args[1].position, f"duplicate variable name: {first}")
    _refuse_accumulator(args[0], first)
    _refuse_accumulator(args[1], second)
    return first, second


def _accumulator(position: int) -> Node:
    return Ident(position, ACCUMULATOR)


def _boolean(position: int, value: bool) -> Node:
    return Literal(position, value, BOOL_TYPE)


def _number(position: int, value: int) -> Node:
    return Literal(position, value, INT_TYPE)


def _loop(
    position: int,
    macro: str,
    target: Node,
    variables: tuple[str, str],
    start: Node,
    condition: Node,
    step: Node,
    result: Node | None = None,
) -> Node:
    return Comprehension(
        position,
        macro,
        target,
        variables,
        ACCUMULATOR,
        start,
        condition,
        step,
        _accumulator(position) if result is None else result,
    )


def _quantifier(position: int, function: str, target: Node, args: list[Node]) -> Node:
    if len(args) == 3:
        variables = _two_variables(args)
    else:
        variables = (_iteration_variable(args[0], "argument must be a simple name"), "")
    predicate = args[-1]
    if function == "all":
        condition = Call(position, "@not_strictly_false", [_accumulator(position)])
        step = Call(position, "_&&_", [_accumulator(position), predicate])
        return _loop(position, "all", target, variables, _boolean(position, True), condition, step)
    if function == "exists":
        negated = Call(position, "!_", [_accumulator(position)])
        condition = Call(position, "@not_strictly_false", [negated])
        step = Call(position, "_||_", [_accumulator(position), predicate])
        return _loop(position, "exists", target, variables, _boolean(position, False), condition, step)
    one_more = Call(position, "_+_", [_accumulator(position), _number(position, 1)])
    step = Call(position, "_?_:_", [predicate, one_more, _accumulator(position)])
    result = Call(position, "_==_", [_accumulator(position), _number(position, 1)])
    always = _boolean(position, True)
    return _loop(position, "exists_one", target, variables, _number(position, 0), always, step, result)


def _guard(position: int, filter_: Node | None, step: Node) -> Node:
    """The step only for what the filter lets through."""
    if filter_ is None:
        return step
    return Call(position, "_?_:_", [filter_, step, _accumulator(position)])


def _append(position: int, element: Node) -> Node:
    return Call(position, "_+_", [_accumulator(position), ListLiteral(position, [element])])


def _map(position: int, function: str, target: Node, args: list[Node]) -> Node:
    name = _iteration_variable(args[0], "argument is not an identifier")
    step = _guard(position, args[1] if len(args) == 3 else None, _append(position, args[-1]))
    start, always = ListLiteral(position, []), _boolean(position, True)
    return _loop(position, "map", target, (name, ""), start, always, step)


def _filter(position: int, function: str, target: Node, args: list[Node]) -> Node:
    name = _iteration_variable(args[0], "argument is not an identifier")
    step = _guard(position, args[1], _append(position, args[0]))
    start, always = ListLiteral(position, []), _boolean(position, True)
    return _loop(position, "filter", target, (name, ""), start, always, step)


def _transform_list(position: int, function: str, target: Node, args: list[Node]) -> Node:
    variables = _two_variables(args)
    step = _guard(position, args[2] if len(args) == 4 else None, _append(position, args[-1]))
    start, always = ListLiteral(position, []), _boolean(position, True)
    return _loop(position, function, target, variables, start, always, step)


def _transform_map(position: int, function: str, target: Node, args: list[Node]) -> Node:
    variables = _two_variables(args)
    entry = [args[-1]] if function == "transformMapEntry" else [Ident(position, variables[0]), args[-1]]
    insertion = Call(position, "cel.@mapInsert", [_accumulator(position), *entry])
    step = _guard(position, args[2] if len(args) == 4 else None, insertion)
    start, always = MapLiteral(position, []), _boolean(position, True)
    return _loop(position, function, target, variables, start, always, step)


def _binding(position: int, macro: str, name: str, value: Node, result: Node) -> Node:
    nothing, never = ListLiteral(position, []), _boolean(position, False)
    step = Ident(position, name)
    return Comprehension(position, macro, nothing, (_NO_VARIABLE, ""), name, value, never, step, result)


def _bind(position: int, function: str, target: Node, args: list[Node]) -> Node | None:
    if not (isinstance(target, Ident) and target.name == "cel"):
        return None
    name = _variable(args[0], "cel.bind() variable names must be simple identifiers")
    return _binding(position, "bind", name, args[1], args[2])


def _sort_by(position: int, function: str, target: Node, args: list[Node]) -> Node:
    if target.kind not in _SORTABLE:
        raise MacroError(
            target.position,
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        )
    keys = _map(position, "map", Ident(position, _SORT_VARIABLE), args)
    ordered = Call(position, "@sortByAssociatedKeys", [keys], Ident(position, _SORT_VARIABLE))
    return _binding(position, "sortBy", _SORT_VARIABLE, target, ordered)


_MemberMacro = Callable[[int, str, Node, list[Node]], "Node | None"]
#: By name and number of arguments: since which release (minor number) it is there, and what it becomes.
_MEMBER_MACROS: dict[tuple[str, int], tuple[int, _MemberMacro]] = {
    **{(name, 2): (0, _quantifier) for name in ("all", "exists", "exists_one")},
    **{(name, 3): (32, _quantifier) for name in ("all", "exists", "exists_one", "existsOne")},
    **{("map", count): (0, _map) for count in (2, 3)},
    ("filter", 2): (0, _filter),
    **{("transformList", count): (32, _transform_list) for count in (3, 4)},
    **{(n, count): (32, _transform_map) for n in ("transformMap", "transformMapEntry") for count in (3, 4)},
    ("bind", 3): (31, _bind),
    ("sortBy", 2): (34, _sort_by),
}
