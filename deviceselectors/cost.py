"""The worst-case cost of evaluating an expression, as the API server estimates it.

Costs and sizes are unsigned 64-bit numbers: sums and products stop at the greatest one, which is also the size of what
has no known size, and factors are multiplied in floating point. Source: the cost estimate of cel-go 0.29 and the
additions of kube-apiserver 1.37 for its libraries and for devices.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

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
)
from deviceselectors.ast import MAP as MAP_NODE
from deviceselectors.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    LIST,
    MAP,
    OPAQUE,
    STRING,
    STRUCT,
    TIMESTAMP,
    TYPE_PARAMETER,
    UINT,
    Type,
    is_optional,
)

UNLIMITED = 2**64 - 1
#: Estimates above this are refused by API validation; the same limit holds for one evaluation.
COST_LIMIT = 1_000_000

_LIST_COST, _MAP_COST, _MESSAGE_COST = 10, 30, 40
_TRAVERSAL = 0.1
_REGEX = 0.25
_NAME_FORMAT_REGEX_SIZE = 128
_FORMAT_SIZE = 64
#: The least and the greatest number of characters, bytes, elements or entries.
Size = tuple[int, int]
_UNKNOWN: Size = (0, UNLIMITED)
_SCALARS = frozenset((BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT))
_ONE: Size = (1, 1)


def add(x: int, y: int) -> int:
    return min(x + y, UNLIMITED)


def multiply(x: int, y: int) -> int:
    return min(x * y, UNLIMITED)


def scale(x: int, factor: float) -> int:
    """The product with a factor, rounded up, computed in floating point as the server does."""
    product = float(x) * factor
    return UNLIMITED if product >= 2.0**64 else ceil(product)


def _union(a: Size, b: Size) -> Size:
    return min(a[0], b[0]), max(a[1], b[1])


class _Declared:
    """What the declarations say about the size of a part of the device."""

    __slots__ = ("element", "fields", "key", "size")

    def __init__(self, size: int, key: _Declared | None = None, element: _Declared | None = None) -> None:
        self.size: Size = (0, size)
        self.key = key
        self.element = element
        self.fields: dict[str, _Declared] = {}


_DOMAIN, _ID, _ATTRIBUTE, _QUANTITY = _Declared(63), _Declared(32), _Declared(64), _Declared(0)
_MOST_NAMES = 32
_DEVICE = _Declared(0)
_DEVICE.fields = {
    "driver": _Declared(63),
    "allowMultipleAllocations": _Declared(1),
    "attributes": _Declared(_MOST_NAMES, _DOMAIN, _Declared(_MOST_NAMES, _ID, _ATTRIBUTE)),
    "capacity": _Declared(_MOST_NAMES, _DOMAIN, _Declared(_MOST_NAMES, _ID, _QUANTITY)),
}


class _Path:
    """The way from a variable to a part of it: fields, `@keys`, `@values`, `@items`.

    The server keeps these in Go slices, and two paths that go on from the same one may share their end: the later one
    then changes the earlier. So in `device.attributes["d"].all(k, v, ...)` the key's path becomes the value's.
    """

    __slots__ = ("_length", "_names")

    def __init__(self, names: list[str], length: int) -> None:
        self._names = names
        self._length = length

    def extend(self, name: str) -> _Path:
        names, length = self._names, self._length
        if length == len(names):
            names = names + [""] * max(length, 1)
        names[length] = name
        return _Path(names, length + 1)

    def declared(self) -> _Declared | None:
        """What is declared at the end of the path, or None if it does not start at the device or leaves it."""
        if not self._length or self._names[0] != "device":
            return None
        found: _Declared | None = _DEVICE
        for name in self._names[1 : self._length]:
            if found is None:
                return None
            found = _step(found, name)
        return found


def _step(declared: _Declared, name: str) -> _Declared | None:
    if name in ("@items", "@values"):
        return declared.element
    if name == "@keys":
        return declared.key
    if name in declared.fields:
        return declared.fields[name]
    return _ATTRIBUTE if declared.element is _ATTRIBUTE else None


_NO_PATH = _Path([], 0)


class _Entries:
    """The sizes of the keys and values of a collection, with its kind."""

    __slots__ = ("key", "kind", "value")

    def __init__(self, kind: int, key: Size, value: Size) -> None:
        self.kind = kind
        self.key = key
        self.value = value


class _Variable:
    """What is known of a variable of a loop."""

    __slots__ = ("entries", "path", "size")

    def __init__(self, path: _Path, size: Size | None, entries: _Entries | None = None) -> None:
        self.path = path
        self.size = size
        self.entries = entries


def estimate(root: Node) -> int:
    """The greatest cost of one evaluation of a type-checked expression."""
    return min(_Estimator().cost(root), UNLIMITED)


def _is_scalar(t: Type) -> bool:
    if t.kind in _SCALARS:
        return True
    return is_optional(t) and _is_scalar(t.parameters[0])


def _type_of(node: Node) -> Type:
    assert node.type is not None
    return node.type


class _Argument:
    """A target or argument of a call, as the cost of the function needs it."""

    __slots__ = ("_estimator", "is_sized", "node", "size")

    def __init__(self, node: Node, size: Size | None, estimator: _Estimator) -> None:
        self.node = node
        #: whether a size has been computed, be it without a bound
        self.is_sized = size is not None
        self.size = _UNKNOWN if size is None else size
        self._estimator = estimator

    @property
    def type(self) -> Type:
        return _type_of(self.node)

    @property
    def path(self) -> _Path:
        return self._estimator.path(self.node)


class _Estimator:
    """One walk over an expression, with what it has found out about sizes."""

    __slots__ = ("_entries", "_paths", "_sizes", "_variables")

    def __init__(self) -> None:
        self._paths: dict[Node, _Path] = {}
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

    def path(self, node: Node) -> _Path:
        variable = self._variable(node)
        return self._paths.get(node, _NO_PATH) if variable is None else variable.path

    def _size(self, node: Node) -> Size | None:
        known = self._sizes.get(node)
        if known is not None:
            return known
        if node.kind in _LITERAL_NODES:
            return _literal_size(node)
        variable = self._variable(node)
        path = self._paths.get(node, _NO_PATH) if variable is None else variable.path
        declared = path.declared()
        if declared is not None:
            self._sizes[node] = declared.size
            return declared.size
        if _is_scalar(_type_of(node)):
            return _ONE
        return None if variable is None else variable.size

    def _size_or_unknown(self, node: Node) -> Size:
        size = self._size(node)
        return _UNKNOWN if size is None else size

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
        self._paths[node] = _Path([node.name], 1) if variable is None else variable.path
        return 1

    def _select(self, node: Select) -> int:
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if _type_of(node.operand).kind in (MAP, STRUCT, TYPE_PARAMETER):
            total += 1
        self._paths[node] = self.path(node.operand).extend(node.field)
        return total

    def _list(self, node: ListLiteral) -> int:
        total = _LIST_COST
        least, most = (UNLIMITED, 0) if node.elements else (0, 0)
        for element in node.elements:
            total += self.cost(element)
            size = self._size_or_unknown(element)
            least, most = min(least, size[0]), max(most, size[1])
        self._entries[node] = _Entries(LIST, _ONE, (least, most))
        return total

    def _map(self, node: MapLiteral) -> int:
        total = _MAP_COST
        key: Size = (UNLIMITED, 0) if node.entries else (0, 0)
        value = key
        for entry in node.entries:
            total += self.cost(entry.key) + self.cost(entry.value)
            key = _union(key, self._size_or_unknown(entry.key))
            value = _union(value, self._size_or_unknown(entry.value))
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
        kind = _type_of(node.iter_range).kind if entries is None else entries.kind
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
        args: list[_Argument] = []
        for arg in node.args:
            costs.append(_COSTS[arg.kind](self, arg))
            args.append(_Argument(arg, self._size(arg), self))
        target_cost = 0
        target: _Argument | None = None
        if node.target is not None:
            target_cost = self.cost(node.target)
            target = _Argument(node.target, self._size(node.target), self)
        most = 0
        result: Size | None = None
        for overload in node.overloads:
            cost, size = self._overload_cost(node, overload, target, args, costs)
            most = max(most, cost)
            if size is not None:
                result = size if result is None else _union(result, size)
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
        self, node: Call, overload: str, target: _Argument | None, args: list[_Argument], costs: list[int]
    ) -> tuple[int, Size | None]:
        """The cost of a call with its arguments, and the size of its result if the function says something of it."""
        if overload in ("logical_and", "logical_or"):
            return costs[0] + costs[1], None
        if overload == "conditional":
            return self._conditional_cost(node, args, costs)
        if overload in _ADDITIONS:
            cost, size = self._addition_cost(node, overload, args)
        else:
            cost, size = _function_cost(node.function, overload, target, args)
        return sum(costs) + cost, size

    def _conditional_cost(
        self, node: Call, args: list[_Argument], costs: list[int]
    ) -> tuple[int, Size | None]:
        self._note_entries_of_either(node, args[1].node, args[2].node)
        return costs[0] + max(costs[1], costs[2]), _union(args[1].size, args[2].size)

    def _addition_cost(self, node: Call, overload: str, args: list[_Argument]) -> tuple[int, Size | None]:
        left, right = args[0].size, args[1].size
        size = add(left[0], right[0]), add(left[1], right[1])
        self._note_entries_of_either(node, args[0].node, args[1].node)
        return (1 if overload == "add_list" else scale(size[1], _TRAVERSAL)), size

    def _note_entries_of_either(self, node: Node, first: Node, second: Node) -> None:
        one, other = self._entries_of(first), self._entries_of(second)
        if one is not None and other is not None:
            self._entries[node] = _Entries(
                one.kind, _union(one.key, other.key), _union(one.value, other.value)
            )


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


def _function_cost(
    function: str, overload: str, target: _Argument | None, args: list[_Argument]
) -> tuple[int, Size | None]:
    estimator = _BY_OVERLOAD.get(overload, _nominal)
    if estimator is _nominal:
        estimator = _BY_FUNCTION.get(function, _nominal)
    found = estimator(overload, target, args)
    return (1, None) if found is None else found


# Estimators of functions. None means that the function costs 1.

_Cost = tuple[int, "Size | None"] | None
_Estimate = Callable[[str, "_Argument | None", list[_Argument]], _Cost]


def _nominal(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return 1, None


def _element_of(argument: _Argument) -> tuple[Type, Size] | None:
    """Type and size of the elements of a list, or None for what has no type parameter."""
    parameters = argument.type.parameters
    if not parameters:
        return None
    declared = argument.path.declared()
    known = None if declared is None else declared.element
    return parameters[0], _UNKNOWN if known is None else known.size


def _list_scan(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None:
        return None
    element = _element_of(target)
    if element is not None:
        per_element = 1
        if element[0].kind in (STRING, BYTES):
            per_element = add(1, scale(element[1][1], _TRAVERSAL))
        return multiply(target.size[1], per_element), None
    if overload == "list_includes_dyn_dyn":
        return target.size[1], None
    return scale(target.size[1], _TRAVERSAL), None


def _parse_url(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return scale(args[0].size[1], _TRAVERSAL), args[0].size


def _parse_argument(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if overload == "cidr_ip":
        return 1, None
    return scale(args[0].size[1], _TRAVERSAL), None


def _parse_twice(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return scale(args[0].size[1], 2 * _TRAVERSAL), None


def _transform(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None:
        return None
    return scale(target.size[1], _TRAVERSAL), target.size


def _to_uint(value: float) -> int:
    """The conversion of a float to an unsigned number in Go on the servers' processors."""
    return int(value) if value < 2.0**64 else 2**63


def _replace(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.size, args[0].size, args[1].size
    most = least = retained_most = retained_least = 0
    if old[0] == 0:
        # An empty text stands between all characters and at both ends.
        most, retained_most = add(size[1], 1), size[1]
    elif new[1] <= old[0]:
        retained_most = size[1]
    else:
        most = _to_uint(float(ceil(float(size[1]) / float(old[0]))))
    if old[1] == 0:
        least, retained_least = add(size[0], 1), size[0]
    elif old[1] <= new[0]:
        retained_least = size[0]
    else:
        least = _to_uint(float(ceil(float(size[0]) / float(old[1]))))
    result = add(multiply(least, new[0]), retained_least), add(multiply(most, new[1]), retained_most)
    return scale(size[1], 2 * _TRAVERSAL), result


def _split(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None:
        return None
    most = target.size[1]
    if len(args) > 1:
        limit = args[1].node
        if isinstance(limit, Literal) and limit.literal_type.kind == INT and isinstance(limit.value, int):
            most = limit.value & UNLIMITED
    return scale(target.size[1], 2 * _TRAVERSAL), (0, most)


def _join(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None:
        return None
    count, size = target.size, (0, 0)
    element = _element_of(target)
    if element is not None:
        size = multiply(count[0], element[1][0]), multiply(count[1], element[1][1])
    if args:
        separator = args[0].size
        size = (
            add(size[0], multiply(separator[0], max(count[0] - 1, 0))),
            add(size[1], multiply(separator[1], max(count[1] - 1, 0))),
        )
    return scale(size[1], _TRAVERSAL), size


def _find(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None or not args:
        return None
    return _regex_cost(target, args[0]), (0, target.size[1])


def _regex_cost(text: _Argument, regex: _Argument) -> int:
    return multiply(scale(add(text.size[1], 1), _TRAVERSAL), scale(regex.size[1], _REGEX))


def _contains_ip(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    cost = scale(32, _TRAVERSAL)
    if overload == "cidr_contains_ip_string":
        cost = add(cost, scale(args[0].size[1], _TRAVERSAL))
    return cost, None


def _contains_cidr(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    cost = scale(32, _TRAVERSAL) + scale(16, _TRAVERSAL) + 1
    if overload == "cidr_contains_cidr_string":
        cost = add(cost, scale(args[0].size[1], _TRAVERSAL))
    return cost, None


def _validate_name(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return scale(scale(args[0].size[1], _TRAVERSAL), _NAME_FORMAT_REGEX_SIZE * _REGEX), None


def _authorization_check(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return 350_000, None


_CONSTANT_COST = frozenset(("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"))


def _equality(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if overload == "equals":
        t = args[0].type
        if t.kind in (OPAQUE, STRUCT) and args[1].type.name == t.name:
            if t.name in _CONSTANT_COST:
                return 1, None
            if t.name == "kubernetes.NamedFormat":
                return scale(_FORMAT_SIZE, _TRAVERSAL), None
            if t.name == "kubernetes.URL":
                return scale(args[1].size[1] if args[1].is_sized else 1, _TRAVERSAL), None
    return _comparison(overload, target, args)


def _comparison(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return scale(min(args[0].size[1], args[1].size[1]), _TRAVERSAL), None


def _contains(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None:
        return None
    return multiply(scale(target.size[1], _TRAVERSAL), scale(args[0].size[1], _TRAVERSAL)), None


def _matches(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is not None:
        return _regex_cost(target, args[0]), None
    return _regex_cost(args[0], args[1]), None


def _prefix(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return scale(args[0].size[1], _TRAVERSAL), None


def _in_list(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return scale(args[1].size[1], 1.0), None


def _format(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return None if target is None else (scale(target.size[1], _TRAVERSAL), None)


def _wrap(value: int) -> int:
    return value & UNLIMITED


def _to_bytes(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    least, most = args[0].size
    return scale(most, _TRAVERSAL), (least, _wrap(most * 4))


def _to_string(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    least, most = args[0].size
    return scale(most, _TRAVERSAL), (least // 4, most)


def _quote(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    least, most = args[0].size
    return scale(most, _TRAVERSAL), (_wrap(least + 2), _wrap(most * 2 + 2))


def _new_list(factor: float, size: Size) -> _Cost:
    return add(scale(size[1], factor), 1 + _LIST_COST), size


def _number(argument: _Argument, default: int) -> int:
    node = argument.node
    if isinstance(node, Literal) and node.literal_type.kind == INT and isinstance(node.value, int):
        return max(node.value, 0)
    return default


def _slice(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None:
        return None
    length = _wrap(_number(args[1], target.size[1]) - _number(args[0], 0))
    return _new_list(1.0, (length, length))


def _range(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    length = _number(args[0], UNLIMITED)
    return _new_list(1.0, (length, length))


def _reverse(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return None if target is None else _new_list(1.0, target.size)


def _flatten(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None:
        return None
    return _new_list(float(_number(args[0], UNLIMITED) if args else 1), target.size)


def _compare_elements(size: Size, factor: float) -> _Cost:
    return _new_list(factor, (multiply(size[0], size[0]), multiply(size[1], size[1])))


def _distinct(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    return None if target is None else _compare_elements(target.size, 2.0)


def _sort(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    if target is None:
        return None
    factor = 2.0 + _TRAVERSAL if overload.startswith(("list_string_", "list_bytes_")) else 2.0
    return _compare_elements(args[0].size if args else target.size, factor)


def _set_relation(overload: str, target: _Argument | None, args: list[_Argument]) -> _Cost:
    factor = 2.0 if overload == "list_sets_equivalent_list" else 1.0
    return add(scale(multiply(args[0].size[1], args[1].size[1]), factor), 1), None


_BY_OVERLOAD: dict[str, _Estimate] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    "list_sets_contains_list": _set_relation,
    "list_sets_intersects_list": _set_relation,
    "list_sets_equivalent_list": _set_relation,
    "not_equals": _comparison,
    **{
        f"{relation}_{kind}": _comparison
        for relation in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    },
    "contains_string": _contains,
    "starts_with_string": _prefix,
    "ends_with_string": _prefix,
    "matches": _matches,
    "matches_string": _matches,
    "in_list": _in_list,
    "string_format": _format,
    "string_to_bytes": _to_bytes,
    "bytes_to_string": _to_string,
    "strings_quote": _quote,
}

_BY_FUNCTION: dict[str, _Estimate] = {
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _sort),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _list_scan),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _transform),
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"), _parse_argument
    ),
    "url": _parse_url,
    "ip.isCanonical": _parse_twice,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate_name,
    "check": _authorization_check,
    "_==_": _equality,
}
