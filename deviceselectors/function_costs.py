"""What calls of functions cost, and how large their results are.

Source: the cost estimates of cel-go 0.29 and of kube-apiserver 1.37 for its libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from deviceselectors.ast import Literal, Node
from deviceselectors.sizes import TRAVERSAL, UNKNOWN, UNLIMITED, Path, Size, add, multiply, scale
from deviceselectors.types import BYTES, INT, OPAQUE, STRING, STRUCT, Type

LIST_COST, MAP_COST, MESSAGE_COST = 10, 30, 40
_REGEX = 0.25
_NAME_FORMAT_REGEX_SIZE = 128
_FORMAT_SIZE = 64


def type_of_node(node: Node) -> Type:
    """The static type of a node that has been checked."""
    assert node.type is not None
    return node.type


class Argument:
    """A target or argument of a call, as the cost of the function needs it."""

    __slots__ = ("_path_of", "is_sized", "node", "size")

    def __init__(self, node: Node, size: Size | None, path_of: Callable[[Node], Path]) -> None:
        self.node = node
        #: whether a size has been computed, be it without a bound
        self.is_sized = size is not None
        self.size = UNKNOWN if size is None else size
        self._path_of = path_of

    @property
    def type(self) -> Type:
        return type_of_node(self.node)

    @property
    def path(self) -> Path:
        return self._path_of(self.node)


def function_cost(
    function: str, overload: str, target: Argument | None, args: list[Argument]
) -> tuple[int, Size | None]:
    """The cost of a call without its arguments, and the size of its result if the function says something of it."""
    estimator = _BY_OVERLOAD.get(overload, _nominal)
    if estimator is _nominal:
        estimator = _BY_FUNCTION.get(function, _nominal)
    found = estimator(overload, target, args)
    return (1, None) if found is None else found


# Estimators of functions. None means that the function costs 1.

_Cost = tuple[int, "Size | None"] | None
_Estimate = Callable[[str, "Argument | None", list[Argument]], _Cost]


def _nominal(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return 1, None


def _element_of(argument: Argument) -> tuple[Type, Size] | None:
    """Type and size of the elements of a list, or None for what has no type parameter."""
    parameters = argument.type.parameters
    if not parameters:
        return None
    declared = argument.path.declared()
    known = None if declared is None else declared.element
    return parameters[0], UNKNOWN if known is None else known.size


def _list_scan(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if target is None:
        return None
    element = _element_of(target)
    if element is not None:
        per_element = 1
        if element[0].kind in (STRING, BYTES):
            per_element = add(1, scale(element[1][1], TRAVERSAL))
        return multiply(target.size[1], per_element), None
    if overload == "list_includes_dyn_dyn":
        return target.size[1], None
    return scale(target.size[1], TRAVERSAL), None


def _parse_url(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return scale(args[0].size[1], TRAVERSAL), args[0].size


def _parse_argument(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if overload == "cidr_ip":
        return 1, None
    return scale(args[0].size[1], TRAVERSAL), None


def _parse_twice(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return scale(args[0].size[1], 2 * TRAVERSAL), None


def _transform(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if target is None:
        return None
    return scale(target.size[1], TRAVERSAL), target.size


def _to_uint(value: float) -> int:
    """The conversion of a float to an unsigned number in Go on the servers' processors."""
    return int(value) if value < 2.0**64 else 2**63


def _replace(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
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
    return scale(size[1], 2 * TRAVERSAL), result


def _split(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if target is None:
        return None
    most = target.size[1]
    if len(args) > 1:
        limit = args[1].node
        if isinstance(limit, Literal) and limit.literal_type.kind == INT and isinstance(limit.value, int):
            most = limit.value & UNLIMITED
    return scale(target.size[1], 2 * TRAVERSAL), (0, most)


def _join(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
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
    return scale(size[1], TRAVERSAL), size


def _find(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if target is None or not args:
        return None
    return _regex_cost(target, args[0]), (0, target.size[1])


def _regex_cost(text: Argument, regex: Argument) -> int:
    return multiply(scale(add(text.size[1], 1), TRAVERSAL), scale(regex.size[1], _REGEX))


def _contains_ip(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    cost = scale(32, TRAVERSAL)
    if overload == "cidr_contains_ip_string":
        cost = add(cost, scale(args[0].size[1], TRAVERSAL))
    return cost, None


def _contains_cidr(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    cost = scale(32, TRAVERSAL) + scale(16, TRAVERSAL) + 1
    if overload == "cidr_contains_cidr_string":
        cost = add(cost, scale(args[0].size[1], TRAVERSAL))
    return cost, None


def _validate_name(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return scale(scale(args[0].size[1], TRAVERSAL), _NAME_FORMAT_REGEX_SIZE * _REGEX), None


def _authorization_check(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return 350_000, None


_CONSTANT_COST = frozenset(("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"))


def _equality(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if overload == "equals":
        t = args[0].type
        if t.kind in (OPAQUE, STRUCT) and args[1].type.name == t.name:
            if t.name in _CONSTANT_COST:
                return 1, None
            if t.name == "kubernetes.NamedFormat":
                return scale(_FORMAT_SIZE, TRAVERSAL), None
            if t.name == "kubernetes.URL":
                return scale(args[1].size[1] if args[1].is_sized else 1, TRAVERSAL), None
    return _comparison(overload, target, args)


def _comparison(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return scale(min(args[0].size[1], args[1].size[1]), TRAVERSAL), None


def _contains(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if target is None:
        return None
    return multiply(scale(target.size[1], TRAVERSAL), scale(args[0].size[1], TRAVERSAL)), None


def _matches(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if target is not None:
        return _regex_cost(target, args[0]), None
    return _regex_cost(args[0], args[1]), None


def _prefix(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return scale(args[0].size[1], TRAVERSAL), None


def _in_list(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return scale(args[1].size[1], 1.0), None


def _format(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return None if target is None else (scale(target.size[1], TRAVERSAL), None)


def _wrap(value: int) -> int:
    return value & UNLIMITED


def _to_bytes(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    least, most = args[0].size
    return scale(most, TRAVERSAL), (least, _wrap(most * 4))


def _to_string(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    least, most = args[0].size
    return scale(most, TRAVERSAL), (least // 4, most)


def _quote(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    least, most = args[0].size
    return scale(most, TRAVERSAL), (_wrap(least + 2), _wrap(most * 2 + 2))


def _new_list(factor: float, size: Size) -> _Cost:
    return add(scale(size[1], factor), 1 + LIST_COST), size


def _number(argument: Argument, default: int) -> int:
    node = argument.node
    if isinstance(node, Literal) and node.literal_type.kind == INT and isinstance(node.value, int):
        return max(node.value, 0)
    return default


def _slice(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if target is None:
        return None
    length = _wrap(_number(args[1], target.size[1]) - _number(args[0], 0))
    return _new_list(1.0, (length, length))


def _range(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    length = _number(args[0], UNLIMITED)
    return _new_list(1.0, (length, length))


def _reverse(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return None if target is None else _new_list(1.0, target.size)


def _flatten(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if target is None:
        return None
    return _new_list(float(_number(args[0], UNLIMITED) if args else 1), target.size)


def _compare_elements(size: Size, factor: float) -> _Cost:
    return _new_list(factor, (multiply(size[0], size[0]), multiply(size[1], size[1])))


def _distinct(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    return None if target is None else _compare_elements(target.size, 2.0)


def _sort(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
    if target is None:
        return None
    factor = 2.0 + TRAVERSAL if overload.startswith(("list_string_", "list_bytes_")) else 2.0
    return _compare_elements(args[0].size if args else target.size, factor)


def _set_relation(overload: str, target: Argument | None, args: list[Argument]) -> _Cost:
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
