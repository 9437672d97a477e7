"""CEL's library of optional values.

`or` and `orValue` have no `run`: `runtime.lazy_calls` evaluates their argument only if it is needed.
"""

from __future__ import annotations

from typing import Any

from deviceselectors.libraries import max_sizes
from deviceselectors.libraries.function import Function, Overload
from deviceselectors.runtime import effort
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
)


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


def _value(value: Optional) -> Any:
    if value.value is MISSING:
        raise CelError("optional.none() dereference")
    return value.value


def _unwrap(elements: Any) -> list[Any]:
    effort.spend(len(elements))
    values = []
    for element in elements:
        if element.__class__ is not Optional:
            raise CelError(f"value {show(element)} is not optional")
        if element.value is not MISSING:
            values.append(element.value)
    return values


def _last(elements: Any) -> Optional:
    return Optional(elements[len(elements) - 1]) if len(elements) else NONE


FUNCTIONS = (
    Function(
        "optional.none", Overload("optional_none - > optional(V)", lambda: NONE), result_size=max_sizes.scalar
    ),
    Function(
        "optional.of", Overload("optional_of V > optional(V)", Optional), result_size=max_sizes.of_first
    ),
    Function(
        "optional.ofNonZeroValue",
        Overload(
            "optional_ofNonZeroValue V > optional(V)",
            lambda value: NONE if _is_zero(value) else Optional(value),
        ),
        result_size=max_sizes.of_first,
    ),
    Function(
        "optional.unwrap",
        Overload("optional_unwrap list(optional(V)) > list(V)", _unwrap),
        server=33,
        result_size=max_sizes.of_first,
    ),
    Function(
        "unwrapOpt",
        Overload(".optional_unwrapOpt list(optional(V)) > list(V)", _unwrap),
        server=33,
        result_size=max_sizes.of_first,
    ),
    Function("or", Overload(".optional_or_optional optional(V); optional(V) > optional(V)")),
    Function("orValue", Overload(".optional_orValue_value optional(V); V > V")),
    Function(
        "hasValue",
        Overload(".optional_hasValue optional(V) > bool", lambda value: value.value is not MISSING),
    ),
    Function("value", Overload(".optional_value optional(V) > V", _value), result_size=max_sizes.of_first),
    Function(
        "first",
        Overload(
            ".list_first list(V) > optional(V)",
            lambda elements: Optional(elements[0]) if len(elements) else NONE,
        ),
        server=33,
        result_size=max_sizes.of_element,
    ),
    Function(
        "last",
        Overload(".list_last list(V) > optional(V)", _last),
        server=33,
        result_size=max_sizes.of_element,
    ),
)
