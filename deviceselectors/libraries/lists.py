"""CEL's library of lists, version 3, and Kubernetes' functions for lists."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from deviceselectors.libraries import actual_costs, estimates, max_sizes
from deviceselectors.libraries.actual_costs import go_conversion, plain_size
from deviceselectors.libraries.estimates import Argument, element_of, makes_list, wrapped
from deviceselectors.libraries.function import BY_COUNT, Cost, Function, Overload, Run
from deviceselectors.libraries.max_sizes import MaxSize
from deviceselectors.runtime import effort
from deviceselectors.runtime.operators import add, compare, equal, is_comparable
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MISSING,
    RECEIVERS,
    CelError,
    Duration,
    Timestamp,
    Uint,
    as_list,
    slice_of,
    type_text,
)
from deviceselectors.sizes import TRAVERSAL, UNLIMITED, Size, multiply

_MAX_RANGE = 1_000_000
_NO_OVERLOAD = "no such overload"
_SUMMABLE = frozenset((int, Uint, float, str, bytes, Duration, Timestamp, *LIST_CLASSES))


def _make_range(count: int) -> list[int]:
    """`lists.range(n)`."""
    if count < 0:
        raise CelError(f"lists.range: size must be non-negative, got {count}")
    if count > _MAX_RANGE:
        raise CelError(f"lists.range: size {count} exceeds maximum allowed ({_MAX_RANGE})")
    return list(range(count))


def _slice_list(elements: Any, start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(elements) < end:
        raise CelError(f"cannot slice({start}, {end}), list is length {len(elements)}")
    return slice_of(elements, start, end)


def _flatten_once(elements: Any) -> list[Any]:
    if elements.__class__ not in LIST_CLASSES:
        raise CelError(f"no such overload: {type_text(elements)}.flatten()")
    return _flatten(elements, 1)


def _flatten_to_depth(elements: Any, depth: Any) -> list[Any]:
    if elements.__class__ not in LIST_CLASSES or depth.__class__ is not int:
        raise CelError(f"no such overload: {type_text(elements)}.flatten({type_text(depth)})")
    return _flatten(elements, depth)


def _flatten(elements: Any, depth: int) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    # without recursion: the lists whose elements are being looked at, and how deep those inside may be taken apart
    pending = [(iter(elements), depth)]
    effort.spend(len(elements))
    while pending:
        rest, depth = pending.pop()
        for element in rest:
            if depth > 0 and element.__class__ in LIST_CLASSES:
                effort.spend(2 * len(element) + 1)
                pending += ((rest, depth), (iter(element), depth - 1))
                break
            flat.append(element)
    return flat


def _distinct(elements: Any) -> list[Any]:
    elements = as_list(elements)
    unique: list[Any] = []
    if all(e.__class__ is str for e in elements) or all(e.__class__ is int for e in elements):
        return list(dict.fromkeys(elements))
    for element in elements:
        if not any(_is_equal(element, other) for other in unique):
            unique.append(element)
    return unique


def _is_equal(left: Any, right: Any) -> bool:
    try:
        return equal(left, right)
    except CelError:
        return False


def _list_only(name: str, run: Run) -> Run:
    """What cel-go calls whatever the types: it fails by itself for what is no list."""

    def call(*arguments: Any) -> Any:
        cls = arguments[0].__class__
        if cls not in LIST_CLASSES:
            raise CelError(_NO_OVERLOAD if cls in RECEIVERS else f"{_NO_OVERLOAD}: {name}")
        return run(*arguments)

    return call


def _sort_by_keys(elements: Any, keys: Any) -> list[Any]:
    """The elements in the order of their keys, which must all be of one comparable type."""
    if len(elements) != len(keys):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(elements)} and {len(keys)} elements respectively"
        )
    if not len(keys):
        return elements  # type: ignore[no-any-return]
    keys = as_list(keys)
    if not is_comparable(keys[0]):
        raise CelError("list elements must be comparable")
    cls = keys[0].__class__
    if len(keys) > 1 and any(key.__class__ is not cls for key in keys):
        raise CelError("list elements must have the same type")
    elements = as_list(elements)
    order = sorted(range(len(keys)), key=cmp_to_key(lambda i, j: _order(keys[i], keys[j])))
    return [elements[i] for i in order]


def _order(left: Any, right: Any) -> int:
    try:
        return compare(left, right)
    except CelError:
        return 0


def _is_sorted(elements: Any) -> bool:
    previous = MISSING
    for element in elements:
        if not is_comparable(element):
            raise CelError(_NO_OVERLOAD)
        if previous is not MISSING and _compares_as(previous, element, 1):
            return False
        previous = element
    return True


def _compares_as(left: Any, right: Any, result: int) -> bool:
    try:
        return compare(left, right) == result
    except CelError:
        return False


_ZEROES = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}


def _summer(kind: str) -> Run:
    """`sum()` of a list of that type."""

    def sum_list(elements: Any) -> Any:
        total: Any = _ZEROES[kind]
        for element in elements:
            if element.__class__ not in _SUMMABLE:
                raise CelError(_NO_OVERLOAD)
            total = add(total, element)
        return total

    return sum_list


def _extreme(elements: Any, function: str, replace_when: int) -> Any:
    best = MISSING
    for element in elements:
        if not is_comparable(element):
            raise CelError(_NO_OVERLOAD)
        if best is MISSING or _compares_as(best, element, replace_when):
            best = element
    if best is MISSING:
        raise CelError(f"{function} called on empty list")
    return best


def _index_of(elements: Any, value: Any) -> int:
    for i, element in enumerate(elements):
        if _is_equal(element, value):
            return i
    return -1


def _last_index_of(elements: Any, value: Any) -> int:
    elements = as_list(elements)
    for i in range(len(elements) - 1, -1, -1):
        if _is_equal(elements[i], value):
            return i
    return -1


def _includes(target: Any, value: Any) -> bool:
    """`target.includes(value)`: whether the list has the value, or a single value equals it."""
    if target.__class__ in LIST_CLASSES:
        return any(_is_equal(element, value) for element in target)
    return _is_equal(target, value)


# ---------------------------------------------------------------- costs


def _estimate_includes(arguments: list[Argument]) -> tuple[int, Size | None]:
    target = arguments[0]
    return (target.size[1], None) if element_of(target) is None else estimates.reads_elements(arguments)


def _number(argument: Argument, default: int) -> int:
    number = argument.number()
    return default if number is None else max(number, 0)


def _estimate_range(arguments: list[Argument]) -> tuple[int, Size | None]:
    length = _number(arguments[0], UNLIMITED)
    return makes_list(1.0, (length, length))


def _estimate_slice(arguments: list[Argument]) -> tuple[int, Size | None]:
    target, start, end = arguments
    length = wrapped(_number(end, target.size[1]) - _number(start, 0))
    return makes_list(1.0, (length, length))


def _estimate_flatten(arguments: list[Argument]) -> tuple[int, Size | None]:
    depth = _number(arguments[1], UNLIMITED) if len(arguments) > 1 else 1
    return makes_list(float(depth), arguments[0].size)


def _estimate_comparisons(factor: float, position: int = 0) -> Any:
    """Each element of a list is compared with each."""

    def estimate(arguments: list[Argument]) -> tuple[int, Size | None]:
        least, most = arguments[position].size
        return makes_list(factor, (multiply(least, least), multiply(most, most)))

    return estimate


def _cost_of_range(count: Any) -> int:
    """By the size of the result, like the next two; that of an error is 1."""
    return 11 + (count if count.__class__ is int and 0 <= count <= _MAX_RANGE else 1)


def _cost_of_reverse(elements: Any) -> int:
    return 11 + (len(elements) if elements.__class__ in LIST_CLASSES else 1)


def _cost_of_slice(elements: Any, start: Any, end: Any) -> int:
    fits = elements.__class__ in LIST_CLASSES and start.__class__ is int and end.__class__ is int
    return 11 + (end - start if fits and 0 <= start <= end <= len(elements) else 1)


def _cost_of_flatten(elements: Any, depth: Any = 1) -> int:
    if depth.__class__ is not int:
        raise go_conversion(depth, "types.Int")
    factor = float(depth)
    return int(plain_size(elements) * (factor if factor >= 0 else 1.0)) + 11


def _cost_of_comparisons(position: int) -> Cost:
    """Each element of a list is compared with each."""

    def cost(*args: Any) -> int:
        elements = args[position]
        if elements.__class__ not in LIST_CLASSES:
            raise go_conversion(elements, "traits.Lister")
        size = len(elements)
        if not size:
            return 11
        factor = 2.1 if elements[0].__class__ in (str, bytes) else 2.0
        return int(size * size * factor) + 11

    return cost


def _range_size(sizes: list[MaxSize]) -> MaxSize:
    number = sizes[0].number
    return max_sizes.UNKNOWN if number is None else MaxSize(max(number, 0))


def _flattened_size(sizes: list[MaxSize]) -> MaxSize:
    if len(sizes) > 1:
        return max_sizes.UNKNOWN
    item = sizes[0].element()
    return MaxSize(sizes[0].count * max(item.count, 1), max_sizes.union([item, item.element()]))


def _bound_of_flatten(sizes: list[MaxSize], result: MaxSize) -> float:
    """With a depth, counting its cost may make cel-go panic."""
    return max_sizes.UNBOUNDED if len(sizes) > 1 else max_sizes.lengths(sizes)[0] + 20


# ---------------------------------------------------------------- rows

_ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMED = ("int", "uint", "double", "duration")
_MESSAGES = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}


def _reading(name: str, *overloads: Overload, **facts: Any) -> Function:
    """The row of a function that reads all elements of a list."""
    return Function(
        name,
        *overloads,
        **{
            "estimate": estimates.reads_elements,
            "cost": actual_costs.reads_elements,
            "bound": max_sizes.reads_elements,
            **facts,
        },
    )


def _sorting(name: str, arguments: str, position: int, run: Run) -> Function:
    """The row of a function that sorts by the list in that position."""
    overloads = []
    for kind in _ORDERED:
        factor = 2.0 + TRAVERSAL if kind in ("string", "bytes") else 2.0
        signature = f".list_{_MESSAGES.get(kind, kind)}_{name.lstrip('@')} {arguments.format(kind)}"
        overloads.append(
            Overload(
                signature,
                estimate=_estimate_comparisons(factor, position),
                cost=_cost_of_comparisons(position),
            )
        )
    return Function(
        name,
        *overloads,
        run=_list_only(name, run),
        since=34,
        bound=max_sizes.may_panic,
        result_size=max_sizes.of_first,
    )


FUNCTIONS = (
    Function(
        "lists.range",
        Overload("lists_range int > list(int)", _make_range),
        estimate=_estimate_range,
        cost=_cost_of_range,
        bound=max_sizes.makes_result,
        result_size=_range_size,
        since=34,
    ),
    Function(
        "slice",
        Overload(".list_slice list(T); int; int > list(T)", _slice_list),
        estimate=_estimate_slice,
        cost=_cost_of_slice,
        bound=max_sizes.makes_result,
        result_size=max_sizes.of_first,
        since=34,
    ),
    Function(
        "flatten",
        Overload(".list_flatten list(list(T)) > list(T)", _flatten_once),
        Overload(".list_flatten_int list(dyn); int > list(dyn)", _flatten_to_depth),
        guard=BY_COUNT,
        estimate=_estimate_flatten,
        cost=_cost_of_flatten,
        bound=_bound_of_flatten,
        result_size=_flattened_size,
        since=34,
    ),
    Function(
        "reverse",
        Overload(".list_reverse list(T) > list(T)", lambda elements: as_list(elements)[::-1]),
        estimate=lambda arguments: makes_list(1.0, arguments[0].size),
        cost=_cost_of_reverse,
        bound=max_sizes.makes_result,
        result_size=max_sizes.of_first,
        since=34,
    ),
    Function(
        "distinct",
        Overload(".list_distinct list(T) > list(T)", _distinct),
        estimate=_estimate_comparisons(2.0),
        cost=_cost_of_comparisons(0),
        bound=max_sizes.may_panic,
        result_size=max_sizes.of_first,
        since=34,
    ),
    _sorting("sort", "list({0}) > list({0})", 0, lambda elements: _sort_by_keys(elements, elements)),
    _sorting("@sortByAssociatedKeys", "list(T); list({0}) > list(T)", 1, _sort_by_keys),
    _reading(
        "isSorted",
        *[Overload(f".list_{kind}_is_sorted_bool list({kind}) > bool", _is_sorted) for kind in _ORDERED],
    ),
    _reading(
        "max",
        *[
            Overload(
                f".list_{kind}_max_{kind} list({kind}) > {kind}",
                lambda elements: _extreme(elements, "max", -1),
            )
            for kind in _ORDERED
        ],
        result_size=max_sizes.of_element,
    ),
    _reading(
        "min",
        *[
            Overload(
                f".list_{kind}_min_{kind} list({kind}) > {kind}",
                lambda elements: _extreme(elements, "min", 1),
            )
            for kind in _ORDERED
        ],
        result_size=max_sizes.of_element,
    ),
    _reading(
        "sum",
        *[Overload(f".list_{kind}_sum_{kind} list({kind}) > {kind}", _summer(kind)) for kind in _SUMMED],
    ),
    _reading("indexOf", Overload(".list_a_index_of_int list(A); A > int", _index_of), last_if_stored=True),
    _reading(
        "lastIndexOf",
        Overload(".list_a_last_index_of_int list(A); A > int", _last_index_of),
        last_if_stored=True,
    ),
    _reading(
        "includes",
        Overload(".list_includes_dyn_dyn dyn; dyn > bool", _includes),
        estimate=_estimate_includes,
        needs_untyped_attributes=True,
        server=36,
    ),
)
