"""What a function call costs at run time, in CEL's cost units.

`call_cost` gives for a call of the checker's overloads a constant, or a function of the argument values and the result.
Sizes of strings count a tenth per character, rounded up. Errors have size 1. Source: CEL's runtime cost model with the
additions of Kubernetes' libraries, as in kube-scheduler 1.37.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from deviceselectors.runtime import effort
from deviceselectors.runtime.formats import Format
from deviceselectors.runtime.lists import MAX_RANGE
from deviceselectors.runtime.network import CIDR, IP
from deviceselectors.runtime.quantities import ComputedQuantity
from deviceselectors.runtime.semvers import Semver
from deviceselectors.runtime.urls import URL
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    MAX_ELEMENTS,
    MISSING,
    CelPanic,
    Duration,
    Optional,
    Timestamp,
    Uint,
    find,
    go_type,
    out_of_memory,
)
from resourceapi.quantity import Quantity

LIST_COST = 10
MAP_COST = 30
STRUCT_COST = 40

CostFunction = Callable[[list[Any], Any], int]


class CostExceededError(Exception):
    """The cost limit was hit; `cost` is the cost so far."""

    def __init__(self, cost: int) -> None:
        self.cost = cost


def underflow(cost: int) -> CostExceededError:
    """The error for a cost below zero, which cel-go takes for a great one."""
    return CostExceededError(cost + (1 << 64))


_ADDERS = frozenset((int, Uint, float, str, bytes, Duration, Timestamp))
_SIZED = frozenset((str, bytes, *LIST_CLASSES, *MAP_CLASSES, IP, CIDR))
_UNIT_EQUALITY = frozenset((Quantity, ComputedQuantity, IP, CIDR, Format, URL, Semver))


def size_of(value: Any) -> int:
    """The size of a value, that of its content for an optional."""
    cls = value.__class__
    if cls in _SIZED:
        return len(value)
    if cls is Optional and value.value is not MISSING:
        return size_of(value.value)
    return 1


def _plain_size(value: Any) -> int:
    """The size as the libraries take it: 1 for optionals."""
    return len(value) if value.__class__ in _SIZED else 1


def _tenth(size: int) -> int:
    return ceil(size * 0.1)


def _of_first(factor: int) -> CostFunction:
    return lambda args, result: ceil(_plain_size(args[0]) * factor * 0.1)


def _join(args: list[Any], result: Any) -> int:
    """By the size of the result, computed before there is one."""
    parts, separators = args[0], args[1:]
    if parts.__class__ not in LIST_CLASSES or any(s.__class__ is not str for s in separators):
        return 1
    length = sum([len(s) for s in separators]) * (len(parts) - 1) if len(parts) else 0
    for part in parts:
        if part.__class__ is not str:
            return 1
        length += len(part)
    return ceil(length * 2 * 0.1)


def _pattern_search(args: list[Any], result: Any) -> int:
    return ceil((1.0 + _plain_size(args[0])) * 0.1) * ceil(_plain_size(args[1]) * 0.25)


def _matches(args: list[Any], result: Any) -> int:
    return ceil((1.0 + size_of(args[0])) * 0.1) * ceil(size_of(args[1]) * 0.25)


def _traversal(args: list[Any], result: Any) -> int:
    return _traverse(args[0])


def _traverse(value: Any) -> int:
    cost = 0
    pending = [value]
    while pending:
        value = pending.pop()
        cls = value.__class__
        if cls is str:
            cost += int(_utf8_length(value) * 0.1)
        elif cls is bytes:
            cost += int(len(value) * 0.1)
        elif cls in LIST_CLASSES or cls in MAP_CLASSES:
            if len(value) > MAX_ELEMENTS:
                raise out_of_memory()
            # short texts and empty lists cost nothing, however many there are
            effort.spend(len(value))
            pending.extend(value)
            if cls in MAP_CLASSES:
                pending.extend([find(value, key) for key in value])
        else:
            cost += 1
    return cost


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _contains_ip(overload: str) -> CostFunction:
    def cost(args: list[Any], result: Any) -> int:
        total = _tenth(2 * _plain_size(args[0]))
        return total + _tenth(_plain_size(args[1])) if overload == "cidr_contains_ip_string" else total

    return cost


def _contains_cidr(overload: str) -> CostFunction:
    def cost(args: list[Any], result: Any) -> int:
        size = _plain_size(args[0])
        total = _tenth(2 * size) + _tenth(size) + 1
        return total + _tenth(_plain_size(args[1])) if overload == "cidr_contains_cidr_string" else total

    return cost


def _validate(args: list[Any], result: Any) -> int:
    if args[0].__class__ is not Format:
        return 1
    return ceil((1.0 + _plain_size(args[1])) * 0.1) * ceil(args[0].pattern_size * 0.25)


def equality(args: list[Any], result: Any) -> int:
    """`==` and `!=`."""
    size, other = size_of(args[0]), size_of(args[1])
    return ceil((min(other, size)) * 0.1)


def _equals(args: list[Any], result: Any) -> int:
    return 1 if args[0].__class__ in _UNIT_EQUALITY else equality(args, result)


def _range(args: list[Any], result: Any) -> int:
    """By the size of the result, like the next two; that of an error is 1."""
    count = args[0]
    return 11 + (count if count.__class__ is int and 0 <= count <= MAX_RANGE else 1)


def _reverse(args: list[Any], result: Any) -> int:
    return 11 + (len(args[0]) if args[0].__class__ in LIST_CLASSES else 1)


def _slice(args: list[Any], result: Any) -> int:
    elements, start, end = args
    fits = elements.__class__ in LIST_CLASSES and start.__class__ is int and end.__class__ is int
    return 11 + (end - start if fits and 0 <= start <= end <= len(elements) else 1)


def _flatten(args: list[Any], result: Any) -> int:
    depth = 1.0
    if len(args) == 2:
        if args[1].__class__ is not int:
            raise _go_conversion(args[1], "types.Int")
        depth = float(args[1])
    return int(_plain_size(args[0]) * (depth if depth >= 0 else 1.0)) + 11


def _self_comparison(position: int) -> CostFunction:
    def cost(args: list[Any], result: Any) -> int:
        elements = args[position]
        if elements.__class__ not in LIST_CLASSES:
            raise _go_conversion(elements, "traits.Lister")
        size = len(elements)
        if not size:
            return 11
        factor = 2.1 if elements[0].__class__ in (str, bytes) else 2.0
        return int(size * size * factor) + 11

    return cost


def _go_conversion(value: Any, target: str) -> CelPanic:
    """cel-go takes the type of the argument for granted, and panics when it is an error."""
    if target == "traits.Lister":
        missing = "Contains" if value.__class__ in _ADDERS else "Add"
        return CelPanic(
            f"interface conversion: {go_type(value)} is not traits.Lister: missing method {missing}"
        )
    return CelPanic(f"interface conversion: ref.Val is {go_type(value)}, not {target}")


def _sets(factor: int) -> CostFunction:
    return lambda args, result: _plain_size(args[0]) * _plain_size(args[1]) * factor + 1


_BY_OVERLOAD: dict[str, CostFunction] = {
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _self_comparison(0),
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
}

#: Asking an authorizer, which no expression ever gets to do.
_AUTHORIZATION = 350_000

_BY_FUNCTION: dict[str, int | CostFunction] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _traversal),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _of_first(1)),
    **dict.fromkeys(("replace", "split"), _of_first(2)),
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _pattern_search),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _of_first(1)),
    "ip.isCanonical": _of_first(2),
    "validate": _validate,
    "check": _AUTHORIZATION,
    "_==_": _equals,
    "_!=_": equality,
}

_STANDARD: dict[str, CostFunction] = {
    "starts_with_string": lambda args, result: _tenth(size_of(args[1])),
    "ends_with_string": lambda args, result: _tenth(size_of(args[1])),
    **dict.fromkeys(
        ("string_to_bytes", "bytes_to_string", "strings_quote", "string_format"),
        lambda args, result: _tenth(size_of(args[0])),
    ),
    "in_list": lambda args, result: size_of(args[1]),
    **dict.fromkeys(
        [
            f"{order}_{kind}"
            for order in ("less", "less_equals", "greater", "greater_equals")
            for kind in ("string", "bytes")
        ],
        equality,
    ),
    **dict.fromkeys(
        ("add_string", "add_bytes"), lambda args, result: _tenth(size_of(args[0]) + size_of(args[1]))
    ),
    **dict.fromkeys(("matches", "matches_string"), _matches),
    "contains_string": lambda args, result: _tenth(size_of(args[0])) * _tenth(size_of(args[1])),
}


def call_cost(name: str, overloads: tuple[str, ...]) -> int | CostFunction:
    """The cost of a call: a constant or a function of the list of arguments and the result."""
    overload = overloads[0] if len(overloads) == 1 else ""
    if overload in _BY_OVERLOAD:
        return _BY_OVERLOAD[overload]
    if overload.endswith("_sort"):
        return _self_comparison(0)
    if overload.endswith("_sortByAssociatedKeys"):
        return _self_comparison(1)
    if name == "ip":
        return 1 if overload == "cidr_ip" else _of_first(1)
    if name == "containsIP":
        return _contains_ip(overload)
    if name == "containsCIDR":
        return _contains_cidr(overload)
    by_function = _BY_FUNCTION.get(name)
    if by_function is not None:
        return by_function
    return _STANDARD.get(overload, 1)
