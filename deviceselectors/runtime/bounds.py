"""A bound of what an evaluation can cost on any device within the limits of the API.

Unlike the API server's estimate it is never too low, so programs whose bound is below the cost limit need no counting.
It is rough: what is not known to be bounded counts as unbounded.
"""

from __future__ import annotations

from typing import Any

from deviceselectors import types as static
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
from deviceselectors.runtime import costs
from deviceselectors.runtime.device import MAX_ENTRIES, MAX_TEXT
from deviceselectors.runtime.planning import Plan, is_binding
from deviceselectors.runtime.shapes import gets_unit_back
from deviceselectors.runtime.values import LIST_CLASSES, MAP_CLASSES, MISSING, Optional, find


class Size:
    """The greatest size of a value: characters or elements, and the size of elements."""

    __slots__ = ("count", "depth", "item")
    depth: int

    def __init__(self, count: float, item: Size | None = None) -> None:
        self.count = count
        #: what is nested deeper is not told apart, so that looking at a size takes no time
        self.item = item if item is None or item.depth < _MAX_DEPTH else _UNKNOWN
        self.depth = 1 if self.item is None else self.item.depth + 1

    def element(self) -> Size:
        return self.item or _SCALAR

    def total(self) -> float:
        """Characters of all elements."""
        return self.count * (1 + (self.item.total() if self.item else 0))


_MAX_DEPTH = 16
_UNBOUNDED = float("inf")
_SCALAR = Size(1)
_UNKNOWN = Size(_UNBOUNDED, Size(_UNBOUNDED))
_TEXT = Size(MAX_TEXT)
_ATTRIBUTE = Size(MAX_TEXT, _TEXT)
_DEVICE = {
    "driver": _TEXT,
    "allowMultipleAllocations": _SCALAR,
    "attributes": Size(MAX_ENTRIES, Size(MAX_ENTRIES, _ATTRIBUTE)),
    "capacity": Size(MAX_ENTRIES, Size(MAX_ENTRIES, _SCALAR)),
}
_SCALAR_KINDS = frozenset(
    (
        static.BOOL,
        static.INT,
        static.UINT,
        static.DOUBLE,
        static.DURATION,
        static.TIMESTAMP,
        static.TYPE,
        static.NULL,
    )
)
_LONGEST_SCALAR = 64
_MAX_PROBLEM = 600


def cost_bound(plan: Plan) -> float:
    """The greatest cost of an evaluation, infinite when none is known."""
    return _Bounds(plan).visit(plan.root)[0]


class _Bounds:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.scope: dict[str, Size] = {}

    def visit(self, node: Node) -> tuple[float, Size]:
        """The greatest cost and size of a node."""
        constant = self.plan.constants.get(id(node), MISSING)
        if constant is not MISSING:
            return 0, _size_of(constant)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Ident):
            return 1, self.scope.get(node.name, _UNKNOWN)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Comprehension):
            return self._comprehension(node)
        return self._literal(node)

    def _select(self, node: Select) -> tuple[float, Size]:
        operand = node.operand
        if isinstance(operand, Ident) and operand.name == "device" and "device" not in self.scope:
            return 2, _DEVICE.get(node.field, _UNKNOWN)
        if node.test_only and gets_unit_back(node):
            return _UNBOUNDED, _SCALAR  # it may be below zero, which counts as very great
        cost, size = self.visit(operand)
        return cost + 2, _SCALAR if node.test_only else size.element()

    def _literal(self, node: Node) -> tuple[float, Size]:
        if isinstance(node, ListLiteral):
            parts, base = node.elements, costs.LIST_COST
        elif isinstance(node, MapLiteral):
            parts, base = [p for entry in node.entries for p in (entry.key, entry.value)], costs.MAP_COST
        else:
            assert isinstance(node, StructLiteral)
            parts, base = [field.value for field in node.fields], costs.STRUCT_COST
        visited = [self.visit(part) for part in parts]
        if isinstance(node, StructLiteral):
            return base + sum([c for c, _ in visited]), _UNKNOWN
        return base + sum([c for c, _ in visited]), Size(len(parts), _union([s for _, s in visited]))

    def _call(self, node: Call) -> tuple[float, Size]:
        nodes = node.args if node.target is None else [node.target, *node.args]
        visited = [self.visit(n) for n in nodes]
        cost = sum([c for c, _ in visited])
        sizes = [s for _, s in visited]
        name = node.function
        if name in ("_[_]", "_[?_]", "_?._"):
            return cost + 2, sizes[0].element()
        if name in ("_&&_", "_||_", "@not_strictly_false"):
            return cost + 1, _SCALAR
        if name in ("_?_:_", "or", "orValue"):
            return cost, _union(sizes[-2:]) or _SCALAR
        if id(node) in self.plan.members:
            return cost, _SCALAR
        result = _result_size(node, sizes)
        return cost + _call_bound(node, sizes, result), result

    def _comprehension(self, node: Comprehension) -> tuple[float, Size]:
        outer = dict(self.scope)
        init_cost, init = self.visit(node.accu_init)
        range_cost, elements = self.visit(node.iter_range)
        if is_binding(node, self.plan):
            self.scope[node.accu_var] = init
            result_cost, result = self.visit(node.result)
            self.scope = outer
            return init_cost + range_cost + result_cost, result
        count = elements.count
        for variable in (node.iter_var, node.iter_var2):
            if variable:
                self.scope[variable] = _union([elements.element(), _TEXT]) or _TEXT
        self.scope[node.accu_var] = Size(count)
        condition_cost, _ = self.visit(node.condition)
        step_cost, step = self.visit(node.step)
        accumulated = _accumulated(init, count, step)
        self.scope[node.accu_var] = accumulated
        result_cost, _ = self.visit(node.result)
        self.scope = outer
        rounds = (count + 1) * (condition_cost + step_cost) if count else condition_cost
        return init_cost + range_cost + rounds + result_cost, accumulated


def _accumulated(init: Size, count: float, step: Size) -> Size:
    """What a loop has built in the end: a round adds as much as the step is larger than what it was given, `count`."""
    if count == _UNBOUNDED or step.count == _UNBOUNDED:
        return _UNKNOWN
    return Size(init.count + count * max(step.count - count, 1), step.item)


#: Counting their cost makes cel-go panic when the argument is an error, so they must be counted.
_PANICKY = frozenset(("sort", "@sortByAssociatedKeys", "distinct"))


def _size_of(value: Any) -> Size:
    cls = value.__class__
    if cls is Optional:
        return _SCALAR if value.value is MISSING else _size_of(value.value)
    if cls in LIST_CLASSES:
        return Size(len(value), _union([_size_of(element) for element in value]))
    if cls in MAP_CLASSES:
        items = [_size_of(find(value, key)) for key in value] + [_size_of(key) for key in value]
        return Size(len(value), _union(items))
    return Size(max(len(value) if cls in (str, bytes) else 1, 1))


def _union(sizes: list[Size]) -> Size | None:
    if not sizes:
        return None
    if all(size is sizes[0] for size in sizes):
        return sizes[0]
    return Size(max([s.count for s in sizes]), _union([s.item for s in sizes if s.item is not None]))


def _call_bound(node: Call, sizes: list[Size], result: Size) -> float:
    cost = costs.call_cost(node.function, node.overloads)
    if isinstance(cost, int):
        return cost
    # an error in place of an empty list has size 1
    first = max(sizes[0].count, 1) if sizes else 1
    second = max(sizes[1].count, 1) if len(sizes) > 1 else 1
    name = node.function
    if name in _PANICKY or (name == "flatten" and len(sizes) > 1):
        return _UNBOUNDED
    if name.startswith("sets."):
        return 2 * first * second + 1
    if name in ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"):
        return sizes[0].total() + 1
    if name == "flatten":
        return first + 20
    if name == "validate":
        return (second * 0.1 + 2) * 300
    if name in ("_==_", "_!=_"):
        return min(first, second) + 1
    return (first * 0.1 + 2) * (second * 0.1 + 2) * 3 + first + second + 2 * _or_zero(name, result) + 20


def _or_zero(name: str, result: Size) -> float:
    """The size of the result where the cost is by that."""
    return result.count if name in ("join", "lists.range", "slice", "reverse") else 0


def _result_size(node: Call, sizes: list[Size]) -> Size:
    compute = _RESULT_SIZES.get(node.function)
    if compute is not None:
        size: Size = compute(sizes)
        return size
    if node.function == "lists.range":
        return _UNKNOWN if sizes[0].count > 1 else _range_size(node)
    kind = node.type.kind if node.type is not None else static.DYN
    return _SCALAR if kind in _SCALAR_KINDS or kind == static.STRUCT else _UNKNOWN


def _range_size(node: Call) -> Size:
    length = getattr(node.args[0], "value", None)
    return Size(max(length, 0)) if length.__class__ is int else _UNKNOWN


def _first(sizes: list[Size]) -> Size:
    return sizes[0]


def _sum(sizes: list[Size]) -> Size:
    items = [s.item for s in sizes if s.item is not None]
    return Size(sizes[0].count + sizes[1].count, _union(items))


def _texts(sizes: list[Size]) -> Size:
    return Size(sizes[0].count + 1, Size(sizes[0].count))


def _joined(sizes: list[Size]) -> Size:
    separator = sizes[1].count if len(sizes) > 1 else 0
    return Size(sizes[0].count * (sizes[0].element().count + separator))


def _flattened(sizes: list[Size]) -> Size:
    if len(sizes) > 1:
        return _UNKNOWN
    item = sizes[0].element()
    return Size(sizes[0].count * max(item.count, 1), _union([item, item.element()]))


def _inserted(sizes: list[Size]) -> Size:
    """A map with another map, or with a key and a value."""
    if len(sizes) == 2:
        return _sum(sizes)
    return Size(sizes[0].count + 1, _union(sizes[1:]))


_RESULT_SIZES: dict[str, Any] = {
    "_+_": _sum,
    **dict.fromkeys(
        (
            "dyn",
            "lowerAscii",
            "upperAscii",
            "trim",
            "substring",
            "find",
            "optional.of",
            "optional.ofNonZeroValue",
            "value",
            "slice",
            "reverse",
            "distinct",
            "sort",
            "@sortByAssociatedKeys",
            "url",
            "getScheme",
            "getHost",
            "getHostname",
            "getPort",
        ),
        _first,
    ),
    "getEscapedPath": lambda sizes: Size(sizes[0].count * 12),
    "string": lambda sizes: Size(max(sizes[0].count, _LONGEST_SCALAR)),
    "bytes": lambda sizes: Size(sizes[0].count * 4),
    "charAt": lambda sizes: _SCALAR,
    "strings.quote": lambda sizes: Size(sizes[0].count * 2 + 2),
    "replace": lambda sizes: Size((sizes[0].count + 1) * (sizes[2].count + 1)),
    "split": _texts,
    "findAll": _texts,
    "join": _joined,
    "flatten": _flattened,
    **dict.fromkeys(("first", "last", "min", "max"), lambda sizes: sizes[0].element()),
    "optional.unwrap": _first,
    "unwrapOpt": _first,
    "optional.none": lambda sizes: _SCALAR,
    "validate": lambda sizes: Size(4, Size(_MAX_PROBLEM)),
    "cel.@mapInsert": _inserted,
    **dict.fromkeys(("ip", "cidr", "masked", "quantity", "semver", "add", "sub"), lambda sizes: Size(32)),
}
