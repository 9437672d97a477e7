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
from deviceselectors.libraries import known
from deviceselectors.libraries.max_sizes import SCALAR, UNBOUNDED, UNKNOWN, MaxSize, reads_both, union
from deviceselectors.runtime import closures
from deviceselectors.runtime.device import MAX_ENTRIES, MAX_TEXT
from deviceselectors.runtime.planning import Plan, gets_unit_back, is_binding
from deviceselectors.runtime.values import LIST_CLASSES, MAP_CLASSES, MISSING, Optional, find

_TEXT = MaxSize(MAX_TEXT)
_ATTRIBUTE = MaxSize(MAX_TEXT, _TEXT)
_DEVICE = {
    "driver": _TEXT,
    "allowMultipleAllocations": SCALAR,
    "attributes": MaxSize(MAX_ENTRIES, MaxSize(MAX_ENTRIES, _ATTRIBUTE)),
    "capacity": MaxSize(MAX_ENTRIES, MaxSize(MAX_ENTRIES, SCALAR)),
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


def cost_bound(plan: Plan) -> float:
    """The greatest cost of an evaluation, infinite when none is known."""
    return _Bounds(plan).visit(plan.root)[0]


class _Bounds:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.scope: dict[str, MaxSize] = {}

    def visit(self, node: Node) -> tuple[float, MaxSize]:
        """The greatest cost and size of a node."""
        constant = self.plan.constants.get(id(node), MISSING)
        if constant is not MISSING:
            return 0, _size_of(constant)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Ident):
            return 1, self.scope.get(node.name, UNKNOWN)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Comprehension):
            return self._comprehension(node)
        return self._literal(node)

    def _select(self, node: Select) -> tuple[float, MaxSize]:
        operand = node.operand
        if isinstance(operand, Ident) and operand.name == "device" and "device" not in self.scope:
            return 2, _DEVICE.get(node.field, UNKNOWN)
        if node.test_only and gets_unit_back(node):
            return UNBOUNDED, SCALAR  # it may be below zero, which counts as very great
        cost, size = self.visit(operand)
        return cost + 2, SCALAR if node.test_only else size.element()

    def _literal(self, node: Node) -> tuple[float, MaxSize]:
        if isinstance(node, ListLiteral):
            parts, base = node.elements, closures.LIST_COST
        elif isinstance(node, MapLiteral):
            parts, base = [p for entry in node.entries for p in (entry.key, entry.value)], closures.MAP_COST
        else:
            assert isinstance(node, StructLiteral)
            parts, base = [field.value for field in node.fields], closures.STRUCT_COST
        visited = [self.visit(part) for part in parts]
        if isinstance(node, StructLiteral):
            return base + sum([c for c, _ in visited]), UNKNOWN
        return base + sum([c for c, _ in visited]), MaxSize(len(parts), union([s for _, s in visited]))

    def _call(self, node: Call) -> tuple[float, MaxSize]:
        nodes = node.args if node.target is None else [node.target, *node.args]
        visited = [self.visit(n) for n in nodes]
        cost = sum([c for c, _ in visited])
        sizes = [s for _, s in visited]
        name = node.function
        if name in ("_[_]", "_[?_]", "_?._"):
            return cost + 2, sizes[0].element()
        if name in ("_&&_", "_||_", "@not_strictly_false"):
            return cost + 1, SCALAR
        if name in ("_?_:_", "or", "orValue"):
            return cost, union(sizes[-2:]) or SCALAR
        if id(node) in self.plan.members:
            return cost, SCALAR
        result = _result_size(node, sizes)
        return cost + _call_bound(node, sizes, result), result

    def _comprehension(self, node: Comprehension) -> tuple[float, MaxSize]:
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
                self.scope[variable] = union([elements.element(), _TEXT]) or _TEXT
        self.scope[node.accu_var] = MaxSize(count)
        condition_cost, _ = self.visit(node.condition)
        step_cost, step = self.visit(node.step)
        accumulated = _accumulated(init, count, step)
        self.scope[node.accu_var] = accumulated
        result_cost, _ = self.visit(node.result)
        self.scope = outer
        rounds = (count + 1) * (condition_cost + step_cost) if count else condition_cost
        return init_cost + range_cost + rounds + result_cost, accumulated


def _accumulated(init: MaxSize, count: float, step: MaxSize) -> MaxSize:
    """The size of the accumulator after a loop: each round adds at most `step.count - count`."""
    if count == UNBOUNDED or step.count == UNBOUNDED:
        return UNKNOWN
    return MaxSize(init.count + count * max(step.count - count, 1), step.item)


def _size_of(value: Any) -> MaxSize:
    cls = value.__class__
    if cls is Optional:
        return SCALAR if value.value is MISSING else _size_of(value.value)
    if cls in LIST_CLASSES:
        return MaxSize(len(value), union([_size_of(element) for element in value]))
    if cls in MAP_CLASSES:
        items = [_size_of(find(value, key)) for key in value] + [_size_of(key) for key in value]
        return MaxSize(len(value), union(items))
    if cls is int:
        return MaxSize(1, number=value)
    return MaxSize(max(len(value) if cls in (str, bytes) else 1, 1))


def _call_bound(node: Call, sizes: list[MaxSize], result: MaxSize) -> float:
    function = known(node.function)
    cost = function.call_cost(node.overloads)
    return cost if isinstance(cost, int) else (function.bound or reads_both)(sizes, result)


def _result_size(node: Call, sizes: list[MaxSize]) -> MaxSize:
    size = known(node.function).result_size
    if size is not None:
        return size(sizes)
    kind = node.type.kind if node.type is not None else static.DYN
    return SCALAR if kind in _SCALAR_KINDS or kind == static.STRUCT else UNKNOWN
