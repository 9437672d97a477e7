"""Nodes of CEL expressions, as the parser makes them and the type checker completes them.

Macros are expanded by the parser (`all`, `map`, `cel.bind`, ... become a `Comprehension`, `has(a.b)` a `Select` with
`test_only`), operators are calls of `_+_`, `_[_]`, `_?_:_`, `_&&_`, `-_`, `@in`, `_?._` and the like, as in the CEL
definition's syntax.proto. Chains of `&&` and `||` are balanced binary trees.

Every node has `position`, the code-point offset in the source to which errors about it point (for a call its operator
or opening parenthesis, for a select its dot), and after type checking `type`, its static type.
"""

from __future__ import annotations

from deviceselectors.types import Type

LITERAL, IDENT, SELECT, CALL, LIST, MAP, STRUCT, COMPREHENSION, UNSPECIFIED = range(1, 10)


class Node:
    """What all nodes have in common; its own instances stand where the parser found an error."""

    __slots__ = ("position", "type")
    kind = UNSPECIFIED

    def __init__(self, position: int) -> None:
        self.position = position
        self.type: Type | None = None


def type_of_node(node: Node) -> Type:
    """The static type of a node that has been checked."""
    assert node.type is not None
    return node.type


class Literal(Node):
    """A constant. `literal_type` tells an int from a uint: both have an int as `value`.

    bool, int, uint, double (float), string (str), bytes, or null (None).
    """

    __slots__ = ("literal_type", "value")
    kind = LITERAL

    def __init__(self, position: int, value: bool | float | str | bytes | None, literal_type: Type) -> None:
        self.position = position
        self.type = None
        self.value = value
        self.literal_type = literal_type


class Ident(Node):
    """A name: a variable (type checked: `device`, an iteration or bound variable) or a type (`int`, kind TYPE).

    The checker writes the resolved name here; one with a leading dot means the global variable behind a local one.
    `value` is the number of an enum constant, else None.
    """

    __slots__ = ("name", "value")
    kind = IDENT

    def __init__(self, position: int, name: str) -> None:
        self.position = position
        self.type = None
        self.name = name
        self.value: int | None = None


class Select(Node):
    """`operand.field`, or with `test_only` `has(operand.field)`."""

    __slots__ = ("field", "operand", "test_only")
    kind = SELECT

    def __init__(self, position: int, operand: Node, field: str, test_only: bool = False) -> None:
        self.position = position
        self.type = None
        self.operand = operand
        self.field = field
        self.test_only = test_only


class Call(Node):
    """`target.function(args)` or `function(args)`; `target` is None in the second form.

    After type checking `function` is the qualified name (`optional.of`, `lists.range`) and `overloads` the ids of all
    overloads that the static types allow, in the order of their declaration. `_?._` has a string literal as second
    argument.
    """

    __slots__ = ("args", "function", "overloads", "target")
    kind = CALL

    def __init__(self, position: int, function: str, args: list[Node], target: Node | None = None) -> None:
        self.position = position
        self.type = None
        self.function = function
        self.args = args
        self.target = target
        self.overloads: tuple[str, ...] = ()


class ListLiteral(Node):
    """`[a, ?b]`; `optionals` has the indices of the elements with a question mark."""

    __slots__ = ("elements", "optionals")
    kind = LIST

    def __init__(self, position: int, elements: list[Node], optionals: tuple[int, ...] = ()) -> None:
        self.position = position
        self.type = None
        self.elements = elements
        self.optionals = optionals


class MapEntry:
    """`key: value` or `?key: value` of a map literal; `position` is that of the colon."""

    __slots__ = ("key", "optional", "position", "value")

    def __init__(self, position: int, key: Node, value: Node, optional: bool) -> None:
        self.position = position
        self.key = key
        self.value = value
        self.optional = optional


class MapLiteral(Node):
    """`{key: value, ?key: value}`."""

    __slots__ = ("entries",)
    kind = MAP

    def __init__(self, position: int, entries: list[MapEntry]) -> None:
        self.position = position
        self.type = None
        self.entries = entries


class StructField:
    """`field: value` or `?field: value` of a message literal; `position` is that of the colon."""

    __slots__ = ("name", "optional", "position", "value")

    def __init__(self, position: int, name: str, value: Node, optional: bool) -> None:
        self.position = position
        self.name = name
        self.value = value
        self.optional = optional


class StructLiteral(Node):
    """`google.protobuf.Duration{seconds: 1}`; after type checking `type_name` is resolved."""

    __slots__ = ("fields", "type_name")
    kind = STRUCT

    def __init__(self, position: int, type_name: str, fields: list[StructField]) -> None:
        self.position = position
        self.type = None
        self.type_name = type_name
        self.fields = fields


class Comprehension(Node):
    """A loop over `iter_range`, into which the macros expand.

    `accumulator = accu_init; for iter_var[, iter_var2] in iter_range: if not condition: break; accumulator = step`;
    its value is `result`. `iter_var2` is empty for one-variable macros. `macro` is the name of the macro for people:
    `all`, `exists`, `exists_one`, `map`, `filter`, `transformList`, `transformMap`, `transformMapEntry`, `bind`,
    `optMap`, `optFlatMap`, `sortBy`. `bind` and the optional ones have an empty range and only the accumulator.
    """

    __slots__ = (
        "accu_init",
        "accu_var",
        "condition",
        "iter_range",
        "iter_var",
        "iter_var2",
        "macro",
        "result",
        "step",
    )
    kind = COMPREHENSION

    def __init__(
        self,
        position: int,
        macro: str,
        iter_range: Node,
        iter_vars: tuple[str, str],
        accu_var: str,
        accu_init: Node,
        condition: Node,
        step: Node,
        result: Node,
    ) -> None:
        self.position = position
        self.type = None
        self.macro = macro
        self.iter_range = iter_range
        self.iter_var, self.iter_var2 = iter_vars
        self.accu_var = accu_var
        self.accu_init = accu_init
        self.condition = condition
        self.step = step
        self.result = result
