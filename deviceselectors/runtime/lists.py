"""CEL's list and set libraries, and the list functions of optionals."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from deviceselectors.runtime import effort
from deviceselectors.runtime.operators import (
    add,
    compare,
    equal,
    is_comparable,
    list_contains,
    lookup,
)
from deviceselectors.runtime.showing import show
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    MISSING,
    NONE,
    CelError,
    Duration,
    Optional,
    Timestamp,
    Uint,
    as_list,
    slice_of,
    type_text,
)

MAX_RANGE = 1_000_000
_NO_OVERLOAD = "no such overload"
_SUMMABLE = frozenset((int, Uint, float, str, bytes, Duration, Timestamp, *LIST_CLASSES))


# ---------------------------------------------------------------- lists


def make_range(count: int) -> list[int]:
    """`lists.range(n)`."""
    if count < 0:
        raise CelError(f"lists.range: size must be non-negative, got {count}")
    if count > MAX_RANGE:
        raise CelError(f"lists.range: size {count} exceeds maximum allowed ({MAX_RANGE})")
    return list(range(count))


def slice_list(elements: Any, start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(elements) < end:
        raise CelError(f"cannot slice({start}, {end}), list is length {len(elements)}")
    return slice_of(elements, start, end)


def flatten(elements: Any) -> list[Any]:
    if elements.__class__ not in LIST_CLASSES:
        raise CelError(f"no such overload: {type_text(elements)}.flatten()")
    return _flatten(elements, 1)


def flatten_to_depth(elements: Any, depth: Any) -> list[Any]:
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
                effort.spend(len(element) + 1)
                pending += ((rest, depth), (iter(element), depth - 1))
                break
            flat.append(element)
    return flat


def reverse(elements: Any) -> list[Any]:
    return as_list(elements)[::-1]


def distinct(elements: Any) -> list[Any]:
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


def sort(elements: Any) -> list[Any]:
    return sort_by_keys(elements, elements)


def sort_by_keys(elements: Any, keys: Any) -> list[Any]:
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


def is_sorted(elements: Any) -> bool:
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


def summer(kind: str) -> Any:
    """`sum()` of a list of that type."""

    def sum_list(elements: Any) -> Any:
        total: Any = _ZEROES[kind]
        for element in elements:
            if element.__class__ not in _SUMMABLE:
                raise CelError(_NO_OVERLOAD)
            total = add(total, element)
        return total

    return sum_list


def maximum(elements: Any) -> Any:
    return _extreme(elements, "max", -1)


def minimum(elements: Any) -> Any:
    return _extreme(elements, "min", 1)


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


def index_of(elements: Any, value: Any) -> int:
    for i, element in enumerate(elements):
        if _is_equal(element, value):
            return i
    return -1


def last_index_of(elements: Any, value: Any) -> int:
    elements = as_list(elements)
    for i in range(len(elements) - 1, -1, -1):
        if _is_equal(elements[i], value):
            return i
    return -1


def includes(target: Any, value: Any) -> bool:
    """`target.includes(value)`: whether the list has the value, or a single value equals it."""
    if target.__class__ in LIST_CLASSES:
        return any(_is_equal(element, value) for element in target)
    return _is_equal(target, value)


def first(elements: Any) -> Optional:
    return Optional(elements[0]) if len(elements) else NONE


def last(elements: Any) -> Optional:
    return Optional(elements[len(elements) - 1]) if len(elements) else NONE


# ---------------------------------------------------------------- sets


def sets_contains(elements: Any, others: Any) -> bool:
    return all(list_contains(elements, other) for other in others)


def sets_equivalent(elements: Any, others: Any) -> bool:
    return sets_contains(elements, others) and sets_contains(others, elements)


def sets_intersects(elements: Any, others: Any) -> bool:
    return any(list_contains(others, element) for element in elements)


# ---------------------------------------------------------------- optionals


def optional_of(value: Any) -> Optional:
    return Optional(value)


def optional_of_non_zero(value: Any) -> Optional:
    return NONE if _is_zero(value) else Optional(value)


def _is_zero(value: Any) -> bool:
    cls = value.__class__
    if value is None:
        return True
    if cls is Duration:
        return value.nanoseconds == 0  # type: ignore[no-any-return]
    if cls is Timestamp:
        # Go's zero time is the first second of year 1
        return value.seconds == -62135596800 and value.nanosecond == 0  # type: ignore[no-any-return]
    if cls in LIST_CLASSES or cls in MAP_CLASSES:
        return len(value) == 0
    return cls in (bool, int, Uint, float, str, bytes) and not value


def optional_none() -> Optional:
    return NONE


def optional_value(value: Optional) -> Any:
    if value.value is MISSING:
        raise CelError("optional.none() dereference")
    return value.value


def has_value(value: Optional) -> bool:
    return value.value is not MISSING


def unwrap(elements: Any) -> list[Any]:
    effort.spend(len(elements))
    values = []
    for element in elements:
        if element.__class__ is not Optional:
            raise CelError(f"value {show(element)} is not optional")
        if element.value is not MISSING:
            values.append(element.value)
    return values


def optional_lookup(container: Any, key: Any) -> Optional:
    """`container[?key]` of a value that is no optional."""
    value = lookup(container, key)
    return NONE if value is MISSING else Optional(value)
