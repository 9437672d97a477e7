"""The worst-case cost of evaluating an expression, as the API server estimates it.

Source: the cost estimate of cel-go 0.29, with the sizes that are declared for devices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from deviceselectors.ast import LIST as LIST_NODE
from deviceselectors.ast import (
    LITERAL,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
    type_of_node,
)
from deviceselectors.ast import MAP as MAP_NODE
from deviceselectors.libraries import known
from deviceselectors.libraries.estimates import LIST_COST, Argument
from deviceselectors.sizes import (
    NO_PATH,
    ONE,
    TRAVERSAL,
    UNKNOWN,
    UNLIMITED,
    Path,
    Size,
    add,
    multiply,
    scale,
    union,
)
from deviceselectors.types import (
    BOOL,
    DOUBLE,
    DURATION,
    INT,
    LIST,
    MAP,
    STRUCT,
    TIMESTAMP,
    TYPE_PARAMETER,
    UINT,
    Type,
    is_optional,
)

__all__ = ["COST_LIMIT", "UNLIMITED", "estimate"]

#: Estimates above this are refused by API validation; the same limit holds for one evaluation.
COST_LIMIT = 1_000_000
_MAP_COST, _MESSAGE_COST = 30, 40
_SCALARS = frozenset((BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT))


class _Entries(NamedTuple):
    """The sizes of the keys and values of a collection, with its kind."""

    kind: int
    key: Size
    value: Size


class _Variable(NamedTuple):
    """What is known of a variable of a loop."""

    path: Path
    size: Size | None
    entries: _Entries | None = None


def estimate(root: Node) -> int:
    """The greatest cost of one evaluation of a type-checked expression."""
    return min(_Estimator().cost(root), UNLIMITED)


def _is_scalar(t: Type) -> bool:
    if t.kind in _SCALARS:
        return True
    return is_optional(t) and _is_scalar(t.parameters[0])


class _Estimator:
    """One walk over an expression, with what it has found out about sizes."""

    __slots__ = ("_entries", "_paths", "_sizes", "_variables")

    def __init__(self) -> None:
        self._paths: dict[Node, Path] = {}
        self._sizes: dict[Node, Size] = {}
        self._entries: dict[Node, _Entries] = {}
        self._variables: dict[str, list[_Variable]] = {}

    def cost(self, node: Node) -> int:
        """The cost, not cut off at the greatest number yet."""
        return _COSTS[node.kind](self, node)

    # What is known of sizes

    def _variable(self, node: Node) -> _Variable | None:
        if isinstance(node, Ident):
            stack = self._variables.get(node.name)
            if stack:
                return stack[-1]
        return None

    def path(self, node: Node) -> Path:
        variable = self._variable(node)
        return self._paths.get(node, NO_PATH) if variable is None else variable.path

    def _size(self, node: Node) -> Size | None:
        known = self._sizes.get(node)
        if known is not None:
            return known
        if node.kind in _LITERAL_NODES:
            return _literal_size(node)
        variable = self._variable(node)
        path = self._paths.get(node, NO_PATH) if variable is None else variable.path
        declared = path.declared()
        if declared is not None:
            self._sizes[node] = declared.size
            return declared.size
        if _is_scalar(type_of_node(node)):
            return ONE
        return None if variable is None else variable.size

    def _size_or_unknown(self, node: Node) -> Size:
        size = self._size(node)
        return UNKNOWN if size is None else size

    def _entries_of(self, node: Node) -> _Entries | None:
        entries = self._entries.get(node)
        if entries is None:
            variable = self._variable(node)
            if variable is not None:
                return variable.entries
        return entries

    def _copy_sizes(self, target: Node, source: Node) -> None:
        size, entries = self._size(source), self._entries_of(source)
        if size is not None:
            self._sizes[target] = size
        if entries is not None:
            self._entries[target] = entries

    # Kinds of nodes

    def _literal(self, node: Literal) -> int:
        return 0

    def _ident(self, node: Ident) -> int:
        variable = self._variable(node)
        self._paths[node] = Path([node.name], 1) if variable is None else variable.path
        return 1

    def _select(self, node: Select) -> int:
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if type_of_node(node.operand).kind in (MAP, STRUCT, TYPE_PARAMETER):
            total += 1
        self._paths[node] = self.path(node.operand).extend(node.field)
        return total

    def _list(self, node: ListLiteral) -> int:
        total = LIST_COST
        least, most = (UNLIMITED, 0) if node.elements else (0, 0)
        for element in node.elements:
            total += self.cost(element)
            size = self._size_or_unknown(element)
            least, most = min(least, size[0]), max(most, size[1])
        self._entries[node] = _Entries(LIST, ONE, (least, most))
        return total

    def _map(self, node: MapLiteral) -> int:
        total = _MAP_COST
        key: Size = (UNLIMITED, 0) if node.entries else (0, 0)
        value = key
        for entry in node.entries:
            total += self.cost(entry.key) + self.cost(entry.value)
            key = union(key, self._size_or_unknown(entry.key))
            value = union(value, self._size_or_unknown(entry.value))
        self._entries[node] = _Entries(MAP, key, value)
        return total

    def _struct(self, node: StructLiteral) -> int:
        return _MESSAGE_COST + sum(self.cost(field.value) for field in node.fields)

    def _loop(self, node: Comprehension) -> int:
        return self._bind(node) if _is_bind(node) else self._comprehension(node)

    def _bind(self, node: Comprehension) -> int:
        total = self.cost(node.iter_range) + self.cost(node.accu_init)
        self._push_value(node.accu_var, node.accu_init)
        total += self.cost(node.result)
        self._variables[node.accu_var].pop()
        self._copy_sizes(node, node.result)
        return total

    def _comprehension(self, node: Comprehension) -> int:
        total = self.cost(node.iter_range) + self.cost(node.accu_init)
        self._push_value(node.accu_var, node.accu_init)
        self._push_iteration(node)
        per_element = self.cost(node.condition) + self.cost(node.step)
        self._variables[node.iter_var].pop()
        if node.iter_var2:
            self._variables[node.iter_var2].pop()
        total += self.cost(node.result)
        self._variables[node.accu_var].pop()
        count = self._size_or_unknown(node.iter_range)
        self._note_result(node, count)
        return total + multiply(count[1], per_element)

    def _note_result(self, node: Comprehension, count: Size) -> None:
        if isinstance(node.accu_init, Literal):
            size = self._size(node.accu_init)
            if size is not None:
                self._sizes[node] = size
        elif isinstance(node.accu_init, ListLiteral | MapLiteral):
            self._sizes[node] = count
            entries = self._entries_of(node.step)
            if entries is not None:
                self._entries[node] = entries

    def _push(self, name: str, variable: _Variable) -> None:
        self._variables.setdefault(name, []).append(variable)

    def _push_value(self, name: str, value: Node) -> None:
        self._push(name, _Variable(self.path(value), self._size(value), self._entries_of(value)))

    def _push_iteration(self, node: Comprehension) -> None:
        path = self.path(node.iter_range)
        entries = self._entries_of(node.iter_range)
        kind = type_of_node(node.iter_range).kind if entries is None else entries.kind
        key_size = None if entries is None else entries.key
        value_size = None if entries is None else entries.value
        is_list = kind == LIST
        if node.iter_var2:
            self._push(node.iter_var, _Variable(path.extend("@indices" if is_list else "@keys"), key_size))
            self._push(node.iter_var2, _Variable(path.extend("@items" if is_list else "@values"), value_size))
        elif is_list:
            self._push(node.iter_var, _Variable(path.extend("@items"), value_size))
        else:
            self._push(node.iter_var, _Variable(path.extend("@keys"), key_size))

    # Calls

    def _call(self, node: Call) -> int:
        if node.function == "dyn":
            total = self.cost(node.args[0])
            self._copy_sizes(node, node.args[0])
            return 1 + total
        costs: list[int] = []
        args: list[Argument] = []
        for arg in node.args:
            costs.append(_COSTS[arg.kind](self, arg))
            args.append(Argument(arg, self._size(arg), self.path))
        target_cost = 0
        if node.target is not None:
            target_cost = self.cost(node.target)
            args.insert(0, Argument(node.target, self._size(node.target), self.path))
        most = 0
        result: Size | None = None
        for overload in node.overloads:
            cost, size = self._overload_cost(node, overload, args, costs)
            most = max(most, cost)
            if size is not None:
                result = size if result is None else union(result, size)
            if overload in _INDEXING:
                result = self._note_element(node, args[0].node, overload)
            if result is None:
                result = self._size(node)
        if result is not None:
            self._sizes[node] = result
        return target_cost + most

    def _note_element(self, node: Node, collection: Node, overload: str) -> Size | None:
        self._paths[node] = self.path(collection).extend("@items" if overload == "index_list" else "@values")
        entries = self._entries_of(collection)
        return None if entries is None else entries.value

    def _overload_cost(
        self, node: Call, overload: str, args: list[Argument], costs: list[int]
    ) -> tuple[int, Size | None]:
        """The cost of a call with its arguments, and the size of its result if the function says something of it."""
        if overload in ("logical_and", "logical_or"):
            return costs[0] + costs[1], None
        if overload == "conditional":
            return self._conditional_cost(node, args, costs)
        if overload in _ADDITIONS:
            cost, size = self._addition_cost(node, overload, args)
        else:
            estimate = known(node.function).overload(overload).estimate
            cost, size = (1, None) if estimate is None else estimate(args)
        return sum(costs) + cost, size

    def _conditional_cost(
        self, node: Call, args: list[Argument], costs: list[int]
    ) -> tuple[int, Size | None]:
        self._note_entries_of_either(node, args[1].node, args[2].node)
        return costs[0] + max(costs[1], costs[2]), union(args[1].size, args[2].size)

    def _addition_cost(self, node: Call, overload: str, args: list[Argument]) -> tuple[int, Size | None]:
        left, right = args[0].size, args[1].size
        size = add(left[0], right[0]), add(left[1], right[1])
        self._note_entries_of_either(node, args[0].node, args[1].node)
        return (1 if overload == "add_list" else scale(size[1], TRAVERSAL)), size

    def _note_entries_of_either(self, node: Node, first: Node, second: Node) -> None:
        one, other = self._entries_of(first), self._entries_of(second)
        if one is not None and other is not None:
            self._entries[node] = _Entries(one.kind, union(one.key, other.key), union(one.value, other.value))


# By kind of node. That each gets its own kind, mypy cannot know.
_COSTS: tuple[Callable[..., int], ...] = (
    _Estimator.cost,
    _Estimator._literal,
    _Estimator._ident,
    _Estimator._select,
    _Estimator._call,
    _Estimator._list,
    _Estimator._map,
    _Estimator._struct,
    _Estimator._loop,
)
_LITERAL_NODES = frozenset((LITERAL, LIST_NODE, MAP_NODE))
_INDEXING = frozenset(("index_list", "index_map"))
_ADDITIONS = frozenset(("add_string", "add_bytes", "add_list"))


def _is_bind(node: Comprehension) -> bool:
    condition = node.condition
    return (
        isinstance(node.iter_range, ListLiteral)
        and not node.iter_range.elements
        and isinstance(condition, Literal)
        and condition.value is False
        and node.accu_var != "__result__"
    )


def _literal_size(node: Node) -> Size:
    if isinstance(node, Literal):
        size = len(node.value) if isinstance(node.value, str | bytes) else 1
    elif isinstance(node, ListLiteral):
        size = len(node.elements)
    else:
        assert isinstance(node, MapLiteral)
        size = len(node.entries)
    return size, size
