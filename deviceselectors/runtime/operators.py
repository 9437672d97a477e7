"""CEL's operators on values of any type: equality, order, arithmetic, membership, access to fields and elements.

Each raises `CelError` with cel-go's text where the types don't fit. Source: the CEL language definition and the
observable behaviour of cel-go 0.29, whose asymmetries are kept: `semver == "x"` is an error, `"x" == semver` false,
and `semver != "x"` true.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign, isfinite, isnan
from typing import Any

from deviceselectors.runtime import effort
from deviceselectors.runtime.showing import show
from deviceselectors.runtime.values import (
    COMPARABLE_WITH_ALL,
    EQUALITY,
    HASHABLE,
    INT_MAX,
    INT_MIN,
    LIST_CLASSES,
    MAP_CLASSES,
    MAX_ELEMENTS,
    MISSING,
    RECEIVERS,
    UINT_MAX,
    CelError,
    ConcatList,
    Duration,
    GeneralMap,
    Message,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    concat,
    contains_key,
    find,
    go_type,
    out_of_memory,
    type_name,
    unhashable,
)

_NO_OVERLOAD = "no such overload"
#: Comparing so many characters takes about as long as one step of other work.
_LONG_TEXT = 1024
_NUMERIC = frozenset((int, Uint, float))
_PLAIN = frozenset((str, bytes, bool, Duration, Timestamp, TypeValue))
_COMPARABLE = frozenset((int, Uint, float, str, bytes, bool, Duration, Timestamp))
_CONTAINERS = frozenset((*LIST_CLASSES, *MAP_CLASSES, Optional))
_TIMESTAMP_MIN, _TIMESTAMP_MAX = -62135596800, 253402300799
_NANO = 1_000_000_000


def _no_operator(function: str, operand: Any) -> CelError:
    if operand.__class__ in RECEIVERS:
        return CelError(_NO_OVERLOAD)
    return CelError(f"{_NO_OVERLOAD}: {function}")


# ---------------------------------------------------------------- equality


#: What is known about pairs of containers inside of others, by identity: whether they are equal, or the error.
_Known = dict[tuple[int, int], bool | CelError]


def equal(left: Any, right: Any) -> bool:
    """`left == right`."""
    cls = left.__class__
    if cls is str:
        return right.__class__ is str and left == right
    if left is None or right is None:
        return left is right
    return _equal_values(left, right, None)


def _equal_elements(left: Any, right: Any, known: _Known) -> bool:
    """Equality inside of a container; remembers pairs, as containers can share parts very often."""
    if left is None or right is None:
        return left is right
    if left.__class__ not in _CONTAINERS:
        return _equal_values(left, right, known)
    key = (id(left), id(right))
    result = known.get(key)
    if result is None:
        try:
            result = _equal_values(left, right, known)
        except CelError as error:
            result = error
        known[key] = result
    if result.__class__ is CelError:
        raise result
    return result is True


def not_equal(left: Any, right: Any) -> bool:
    """`left != right`; where the types cannot be compared it is true."""
    try:
        return not equal(left, right)
    except CelError:
        return True


def _equal_values(left: Any, right: Any, known: _Known | None) -> bool:
    cls = left.__class__
    if cls in _PLAIN:
        if (cls is str or cls is bytes) and len(left) > _LONG_TEXT:
            effort.spend(len(left) // _LONG_TEXT)  # within containers nothing is paid for it
        return right.__class__ is cls and left == right
    if cls in _NUMERIC:
        return right.__class__ in _NUMERIC and _compare_numbers(left, right) == 0
    if left is None:
        return right is None
    if cls in LIST_CLASSES:
        return right.__class__ in LIST_CLASSES and _equal_lists(left, right, {} if known is None else known)
    if cls in MAP_CLASSES:
        return right.__class__ in MAP_CLASSES and _equal_maps(left, right, {} if known is None else known)
    if cls is Optional:
        if right.__class__ is not Optional:
            return False
        if left.value is MISSING or right.value is MISSING:
            return left.value is right.value
        return _equal_values(left.value, right.value, known)
    other, compare_opaque = EQUALITY[cls]
    if right.__class__ is not other:
        if cls in COMPARABLE_WITH_ALL:
            return False
        raise CelError(_NO_OVERLOAD)
    return compare_opaque(left, right)


def _equal_lists(left: Any, right: Any, known: _Known) -> bool:
    if len(left) != len(right):
        return False
    if len(left) > MAX_ELEMENTS:
        raise out_of_memory()
    # lists inside of others are compared for nothing
    effort.spend(len(left))
    failure: CelError | None = None
    for mine, other in zip(left, right, strict=True):
        try:
            if not _equal_elements(mine, other, known):
                return False
        except CelError as error:
            failure = failure or error
    # Only a concatenation reports that elements cannot be compared, other lists count them as equal.
    if failure is not None and left.__class__ is ConcatList:
        raise failure
    return True


def _equal_maps(left: Any, right: Any, known: _Known) -> bool:
    if len(left) != len(right):
        return False
    effort.spend(len(left))
    for key in left:
        other = find(right, key)
        if other is MISSING:
            return False
        try:
            if not _equal_elements(find(left, key), other, known):
                return False
        except CelError:
            continue
    return True


# ---------------------------------------------------------------- order


def _compare_numbers(left: Any, right: Any) -> int:
    """-1, 0, 1; 2 when one is no number. Whole numbers are rounded to doubles before they meet one."""
    if left.__class__ is float or right.__class__ is float:
        left, right = float(left), float(right)
    if left < right:
        return -1
    if left > right:
        return 1
    return 0 if left == right else 2


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1; the order used by `<`, `>` and the like, by sorting, `min` and `max`."""
    cls = left.__class__
    if cls in _NUMERIC:
        if cls is float and isnan(left):
            raise CelError("NaN values cannot be ordered")
        if right.__class__ not in _NUMERIC:
            raise CelError(_NO_OVERLOAD)
        result = _compare_numbers(left, right)
        if result == 2:
            raise CelError("NaN values cannot be ordered")
        return result
    if right.__class__ is not cls:
        raise CelError(_NO_OVERLOAD)
    if cls is Duration:
        left, right = left.nanoseconds, right.nanoseconds
    elif cls is Timestamp:
        left, right = (left.seconds, left.nanosecond), (right.seconds, right.nanosecond)
    return 1 if left > right else -1 if left < right else 0


def is_comparable(value: Any) -> bool:
    """Whether values of its type have an order."""
    return value.__class__ in _COMPARABLE


def less(left: Any, right: Any) -> bool:
    """`left < right`."""
    if left.__class__ not in _COMPARABLE:
        raise CelError(f"{_NO_OVERLOAD}: _<_")
    return compare(left, right) < 0


def less_equals(left: Any, right: Any) -> bool:
    """`left <= right`."""
    if left.__class__ not in _COMPARABLE:
        raise CelError(f"{_NO_OVERLOAD}: _<=_")
    return compare(left, right) <= 0


def greater(left: Any, right: Any) -> bool:
    """`left > right`."""
    if left.__class__ not in _COMPARABLE:
        raise CelError(f"{_NO_OVERLOAD}: _>_")
    return compare(left, right) > 0


def greater_equals(left: Any, right: Any) -> bool:
    """`left >= right`."""
    if left.__class__ not in _COMPARABLE:
        raise CelError(f"{_NO_OVERLOAD}: _>=_")
    return compare(left, right) >= 0


# ---------------------------------------------------------------- arithmetic


def checked_int(value: int) -> int:
    """The number, if it fits 64 bits."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise CelError("integer overflow")


def _checked_uint(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise CelError("unsigned integer overflow")


def add(left: Any, right: Any) -> Any:
    """`left + right`."""
    cls = left.__class__
    same = right.__class__ is cls
    if cls is int:
        if same:
            return checked_int(left + right)
    elif cls is str or cls is float or cls is bytes:
        if same:
            return left + right
    elif cls in LIST_CLASSES:
        if right.__class__ in LIST_CLASSES:
            return concat(left, right)
    elif cls is Uint:
        if same:
            return _checked_uint(int(left) + int(right))
    elif cls is Duration:
        if same:
            return Duration(checked_int(left.nanoseconds + right.nanoseconds))
        if right.__class__ is Timestamp:
            return _shift_timestamp(right, left.nanoseconds)
    elif cls is Timestamp:
        if right.__class__ is Duration:
            return _shift_timestamp(left, right.nanoseconds)
    else:
        raise _no_operator("_+_", left)
    raise CelError(_NO_OVERLOAD)


def _shift_timestamp(timestamp: Timestamp, nanoseconds: int) -> Timestamp:
    seconds, nanosecond = divmod(timestamp.seconds * _NANO + timestamp.nanosecond + nanoseconds, _NANO)
    if not _TIMESTAMP_MIN <= seconds <= _TIMESTAMP_MAX:
        raise CelError("timestamp overflow")
    return Timestamp(seconds, nanosecond, timestamp.offset)


def subtract(left: Any, right: Any) -> Any:
    """`left - right`."""
    cls = left.__class__
    same = right.__class__ is cls
    if cls is int:
        if same:
            return checked_int(left - right)
    elif cls is float:
        if same:
            return left - right
    elif cls is Uint:
        if same:
            return _checked_uint(int(left) - int(right))
    elif cls is Duration:
        if same:
            return Duration(checked_int(left.nanoseconds - right.nanoseconds))
    elif cls is Timestamp:
        if right.__class__ is Duration:
            return _shift_timestamp(left, checked_int(-right.nanoseconds))
        if same:
            return _between(left, right)
    else:
        raise _no_operator("_-_", left)
    raise CelError(_NO_OVERLOAD)


def _between(left: Timestamp, right: Timestamp) -> Duration:
    seconds = checked_int((left.seconds - right.seconds) * _NANO)
    return Duration(checked_int(seconds + left.nanosecond - right.nanosecond))


def multiply(left: Any, right: Any) -> Any:
    """`left * right`."""
    cls = left.__class__
    same = right.__class__ is cls
    if cls is int:
        if same:
            return checked_int(left * right)
    elif cls is float:
        if same:
            return left * right
    elif cls is Uint:
        if same:
            return _checked_uint(int(left) * int(right))
    else:
        raise _no_operator("_*_", left)
    raise CelError(_NO_OVERLOAD)


def divide(left: Any, right: Any) -> Any:
    """`left / right`; whole numbers are truncated towards zero."""
    cls = left.__class__
    same = right.__class__ is cls
    if cls is int:
        if same:
            if right == 0:
                raise CelError("division by zero")
            quotient = abs(left) // abs(right)
            return checked_int(quotient if (left < 0) == (right < 0) else -quotient)
    elif cls is float:
        if same:
            return _divide_doubles(left, right)
    elif cls is Uint:
        if same:
            if right == 0:
                raise CelError("division by zero")
            return Uint(int(left) // int(right))
    else:
        raise _no_operator("_/_", left)
    raise CelError(_NO_OVERLOAD)


def _divide_doubles(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    if left == 0.0 or isnan(left):
        return float("nan")
    return copysign(float("inf"), copysign(1.0, left) * copysign(1.0, right))


def modulo(left: Any, right: Any) -> Any:
    """`left % right`, with the sign of the left side."""
    cls = left.__class__
    same = right.__class__ is cls
    if cls is int:
        if same:
            if right == 0:
                raise CelError("modulus by zero")
            if left == INT_MIN and right == -1:
                raise CelError("integer overflow")
            rest = abs(left) % abs(right)
            return rest if left >= 0 else -rest
    elif cls is Uint:
        if same:
            if right == 0:
                raise CelError("modulus by zero")
            return Uint(int(left) % int(right))
    else:
        raise _no_operator("_%_", left)
    raise CelError(_NO_OVERLOAD)


def negate(value: Any) -> Any:
    """`-value`."""
    cls = value.__class__
    if cls is int:
        return checked_int(-value)
    if cls is float:
        return -value
    if cls is Duration:
        return Duration(checked_int(-value.nanoseconds))
    raise CelError(_NO_OVERLOAD) if cls is bool else _no_operator("-_", value)


def logical_not(value: Any) -> bool:
    """`!value`."""
    if value is True:
        return False
    if value is False:
        return True
    raise CelError(_NO_OVERLOAD)


# ---------------------------------------------------------------- containers


def size(value: Any) -> int:
    """`size(x)`: elements, entries, bytes, or characters of a string."""
    cls = value.__class__
    if cls is str or cls in LIST_CLASSES or cls in MAP_CLASSES or cls is bytes:
        return len(value)
    raise _no_operator("size", value)


def contains(element: Any, container: Any) -> bool:
    """`element in container`."""
    cls = container.__class__
    if cls in LIST_CLASSES:
        return list_contains(container, element)
    if cls in MAP_CLASSES:
        return contains_key(container, element)
    raise CelError(_NO_OVERLOAD)


def list_contains(container: Any, element: Any) -> bool:
    """Whether an element of the list equals the value; elements that cannot be compared with it don't."""
    if len(container) > MAX_ELEMENTS:
        raise out_of_memory()
    cls = element.__class__
    if cls is str:
        return any(e.__class__ is str and e == element for e in container)
    for candidate in container:
        if cls is int and candidate.__class__ is int:
            if element == candidate:
                return True
            continue
        try:
            if _equal_values(element, candidate, None):
                return True
        except CelError:
            continue
    return False


def index_of(index: Any) -> int:
    """A list index, which may be any whole number."""
    cls = index.__class__
    if cls is int:
        return int(index)
    if cls is float or cls is Uint:
        if INT_MIN < index <= INT_MAX and index == int(index):
            return int(index)
        raise CelError(f"unsupported index value {show(index)} in list")
    raise CelError(f"unsupported index type '{type_name(index)}' in list")


_QUALIFIERS = frozenset((str, int, Uint, bool, float))


def invalid_qualifier(key: Any) -> CelError | None:
    """The error for a key that no map or list can be asked for, else None."""
    if key.__class__ in _QUALIFIERS:
        return None
    return CelError(f"invalid qualifier type: {go_type(key)}")


def no_such_key(key: Any) -> CelError:
    """The error for a key that is not there."""
    return CelError(f"no such key: {show(key)}")


def lookup(container: Any, key: Any) -> Any:
    """`container[key]` or `container.key`, or `MISSING` where an optional access gives `optional.none()`.

    Raises for what is an error even then: a list with an index that is no number.
    """
    cls = container.__class__
    if cls in MAP_CLASSES:
        return find(container, key)
    if cls in LIST_CLASSES:
        index = index_of(key)
        return container[index] if 0 <= index < len(container) else MISSING
    if cls is Message:
        # the one that there is has no fields
        raise CelError(f"no such field '{key}'" if key.__class__ is str else _NO_OVERLOAD)
    return MISSING


def access(container: Any, key: Any) -> Any:
    """`container[key]` or `container.key` of a value that is no optional."""
    value = lookup(container, key)
    if value is MISSING:
        if container.__class__ in LIST_CLASSES:
            raise CelError(f"index out of bounds: {show(key)}")
        raise no_such_key(key)
    return value


def insert(mapping: Any, key: Any, value: Any) -> Any:
    """Adds an entry to the map that a `transformMap` builds, in place; the key must be new."""
    if find(mapping, key) is not MISSING:
        raise CelError(f"insert failed: key {show(key)} already exists")
    mapping.put(key, value)
    return mapping


def insert_all(mapping: Any, update: Any) -> Any:
    """Adds the entries of a map to the one that a `transformMapEntry` builds."""
    effort.spend(len(update))
    for key in update:
        insert(mapping, key, find(update, key))
    return mapping


def iterate(value: Any) -> Any:
    """What a one-variable comprehension loops over: elements, or keys of a map."""
    if value.__class__ in LIST_CLASSES or value.__class__ in MAP_CLASSES:
        return value
    raise CelError(f"got '{go_type(value)}', expected iterable type")


def counted(elements: Any) -> Any:
    """The elements of a loop, after their number has been counted as work.

    :raises CelPanic: when there are too many
    """
    effort.spend(len(elements))
    return elements


def iterate_pairs(value: Any) -> Any:
    """What a two-variable comprehension loops over: indices and elements, or keys and values."""
    if value.__class__ in LIST_CLASSES:
        return enumerate(value)
    if value.__class__ in MAP_CLASSES:
        return [(key, find(value, key)) for key in value]
    raise CelError(f"unsupported comprehension range type: {go_type(value)}")


def map_literal(pairs: list[tuple[Any, Any]]) -> Any:
    """A map from its entries in order; the last of equal keys wins."""
    if all(key.__class__ is str for key, _ in pairs):
        return dict(pairs)
    mapping = GeneralMap()
    for key, value in pairs:
        mapping.put(key, value)
    return mapping


def make_map(pairs: list[tuple[Any, Any]]) -> Any:
    """A map literal; an optional entry without value removes the entries before it that have its key."""
    if all(value is not MISSING for _, value in pairs):
        return map_literal(pairs)
    kept: list[tuple[Any, Any]] = []
    for key, value in pairs:
        if value is MISSING:
            kept = [(k, v) for k, v in kept if k.__class__ is not key.__class__ or k != key]
        else:
            kept.append((key, value))
    return map_literal(kept)


def set_membership(elements: list[Any]) -> dict[type, frozenset[Any]] | None:
    """A constant list as sets for `in`, by class, or None when its elements are not all scalars.

    Numbers are in it under each type that holds them exactly.
    """
    members: dict[type, set[Any]] = {}
    for element in elements:
        cls = element.__class__
        if cls not in _QUALIFIERS:
            return None
        for equal in (element, *_other_numbers(element)) if cls in _NUMERIC else (element,):
            members.setdefault(equal.__class__, set()).add(equal)
    return {cls: frozenset(values) for cls, values in members.items()}


def _other_numbers(number: Any) -> Iterator[Any]:
    """The numbers of other types that equal a number."""
    if number.__class__ is float:
        if isfinite(number) and number == int(number):
            if INT_MIN < number < INT_MAX:
                yield int(number)
            if 0 <= number <= UINT_MAX:
                yield Uint(int(number))
        return
    yield float(number)
    if number.__class__ is int and number >= 0:
        yield Uint(number)
    elif number.__class__ is Uint and number <= INT_MAX:
        yield int(number)


def in_members(element: Any, members: dict[type, frozenset[Any]]) -> bool:
    """`element in [constants]`; what Go cannot hash makes cel-go panic."""
    cls = element.__class__
    values = members.get(cls)
    if values is not None:
        return element in values
    if cls not in HASHABLE:
        raise unhashable(element)
    return False


def lookup_any(container: Any, key: Any) -> Any:
    """`lookup` with a key that was computed, of any type."""
    invalid = invalid_qualifier(key)
    if invalid is not None:
        raise invalid
    return lookup(container, key)


def access_any(container: Any, key: Any) -> Any:
    """`access` with a key that was computed, of any type."""
    invalid = invalid_qualifier(key)
    if invalid is not None:
        raise invalid
    return access(container, key)
