"""What a call is said to cost at most is never less than what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from itertools import product
from typing import Any

import pytest

from deviceselectors import types as static
from deviceselectors.ast import Call, Literal, Node
from deviceselectors.libraries import cidr, find, ip, names, quantity, semver, url
from deviceselectors.libraries.function import Cost, Overload
from deviceselectors.libraries.max_sizes import MaxSize, opaque
from deviceselectors.libraries.named_formats import FORMATS
from deviceselectors.runtime import bounds, effort
from deviceselectors.runtime.device import MAX_ENTRIES, MAX_TEXT
from deviceselectors.runtime.values import (
    CelError,
    CelPanic,
    Duration,
    GeneralMap,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
)
from resourceapi import limits

#: Of texts: none, one character, what devices have, and the longest that an expression can state.
_TEXT_SIZES = (0, 1, 255, MAX_TEXT, limits.CEL_EXPRESSION_BYTES)
_LIST_SIZES = (0, 1, MAX_ENTRIES, MAX_TEXT)
_NUMBERS = (0, 1, MAX_TEXT, 1_000_000)
#: Not bounded as calls: they cost what their operands and accesses do.
_SYNTAX = frozenset(
    ("_&&_", "_||_", "_?_:_", "_[_]", "_[?_]", "_?._", "@not_strictly_false", "or", "orValue")
)
#: Values of no type that an expression can make.
_NO_VALUES = frozenset(("Authorizer", "Decision", "GroupCheck", "PathCheck", "ResourceCheck"))
_ERROR = CelError("an error")

_Sized = tuple[Any, MaxSize]


def _overloads() -> Iterator[Any]:
    for name in names():
        function = find(name)
        assert function is not None
        for overload in function.overloads:
            values = not any(argument.name in _NO_VALUES for argument in overload.arguments)
            if name not in _SYNTAX and values:
                yield pytest.param(name, overload, id=overload.id)


@pytest.mark.parametrize(("name", "overload"), list(_overloads()))
def test_calls_cost_no_more_than_their_bound(name: str, overload: Overload) -> None:
    """With arguments of all sizes up to the greatest that devices and expressions have, and with errors for arguments."""
    cost = 1 if overload.cost is None else overload.cost
    choices = [_arguments_of(argument, position) for position, argument in enumerate(overload.arguments)]
    for arguments in product(*choices):
        values = [value for value, _ in arguments]
        node = Call(0, name, [_node(value) for value in values], None)
        node.overloads, node.type = (overload.id,), overload.result
        sizes = [size for _, size in arguments]
        bound = bounds._call_bound(node, sizes, bounds._result_size(node, sizes))
        for failing in (None, *range(len(values))):
            given = [_ERROR if position == failing else value for position, value in enumerate(values)]
            assert _charged(cost, given) <= bound, [(type(value), size.count) for value, size in arguments]


@pytest.mark.parametrize(("name", "overload"), list(_overloads()))
def test_results_are_no_larger_than_said(name: str, overload: Overload) -> None:
    """The bound of what is called with a result rests on the size that the row of the call states."""
    if overload.run is None:
        return
    choices = [_arguments_of(argument, position) for position, argument in enumerate(overload.arguments)]
    for arguments in product(*choices):
        node = Call(0, name, [_node(value) for value, _ in arguments], None)
        node.overloads, node.type = (overload.id,), overload.result
        stated = bounds._result_size(node, [size for _, size in arguments])
        try:
            # macros insert into their map in place
            result = overload.run(
                *(deepcopy(value) if type(value) is GeneralMap else value for value, _ in arguments)
            )
        except (CelError, CelPanic):
            continue
        if result.__class__ is not CelError:
            found = bounds._size_of(result).count
            assert found <= max(stated.count, 1), [(type(value), size.count) for value, size in arguments]


def _charged(cost: Cost, values: list[Any]) -> float:
    if isinstance(cost, int):
        return cost
    effort.begin()  # as each evaluation does; what is charged depends on no earlier one
    try:
        return cost(*values)
    except CelPanic:
        return float("inf")  # programs that may panic must be counted


def _node(value: Any) -> Node:
    return Literal(0, value, static.INT_TYPE) if value.__class__ is int else Node(0)


def _arguments_of(kind: static.Type, position: int) -> list[_Sized]:
    """Values of a type with the sizes that the bound takes them to have."""
    if kind.kind == static.LIST:
        return [_sized([_element(kind.parameters[0])] * size) for size in _LIST_SIZES]
    if kind.kind == static.MAP:
        return [_sized(_mapping(size)) for size in _LIST_SIZES]
    if kind.kind in _TEXTS:
        return [_sized(_TEXTS[kind.kind] * size) for size in _TEXT_SIZES]
    if kind.kind == static.INT:
        return [_sized(number) for number in _NUMBERS]
    if kind.kind in _SCALARS:
        return [_sized(_SCALARS[kind.kind])]
    if kind.name in _OPAQUE:
        return _OPAQUE[kind.name]
    if kind.name == "optional_type":
        return [_sized(Optional("a" * size)) for size in _TEXT_SIZES]
    # of any type
    return [_sized("é" * MAX_TEXT), _sized(["é" * MAX_TEXT] * MAX_TEXT), *_OPAQUE["net.CIDR"]]


def _sized(value: Any) -> _Sized:
    return value, bounds._size_of(value)


def _element(kind: static.Type) -> Any:
    if kind.kind == static.LIST:
        return ["é" * MAX_TEXT] * MAX_ENTRIES
    if kind.kind == static.BYTES:
        return b"a" * MAX_TEXT
    return _SCALARS.get(kind.kind, 1 if kind.kind == static.INT else "é" * MAX_TEXT)


def _mapping(size: int) -> GeneralMap:
    mapping = GeneralMap()
    for number in range(size):
        mapping.put(f"{number}{'é' * MAX_TEXT}", "é" * MAX_TEXT)
    return mapping


_TEXTS: dict[int, Any] = {static.STRING: "é", static.BYTES: b"a"}
_SCALARS: dict[int, Any] = {
    static.BOOL: True,
    static.DOUBLE: 1.5,
    static.DURATION: Duration(1),
    static.UINT: Uint(1),
    static.TIMESTAMP: Timestamp(0),
    static.NULL: None,
    static.TYPE: TypeValue("int"),
}
#: Libraries' values, with the sizes of what makes them.
_ADDRESS = opaque([])
_OPAQUE: dict[str, list[_Sized]] = {
    "kubernetes.URL": [(url.parse("http://h/" + "a" * (MAX_TEXT - 9)), MaxSize(MAX_TEXT))],
    "kubernetes.Semver": [(semver.parse("1.0.0-" + "a" * (MAX_TEXT - 6)), bounds._ATTRIBUTE)],
    "kubernetes.Quantity": [(quantity.parse("1" * 30), MaxSize(1))],
    "net.IP": [(ip.parse(text), _ADDRESS) for text in ("1.2.3.4", "2001:db8::1")],
    "net.CIDR": [(cidr.parse(text), _ADDRESS) for text in ("1.2.3.0/24", "2001:db8::/32")],
    "kubernetes.NamedFormat": [(each, MaxSize(1)) for each in FORMATS.values()],
}
