"""Values as Go's `%v` prints them, and the errors that only show one."""

from __future__ import annotations

from typing import Any

from deviceselectors.runtime import effort
from deviceselectors.runtime.number_text import format_double, format_duration
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    MAX_CHARACTERS,
    NONE,
    CelError,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    as_list,
    find,
    out_of_memory,
)

#: What it takes to write an element of a list or an entry of a map, as steps of effort.
ELEMENT, ENTRY = 8, 16


def checked_length(text: str) -> str:
    """A text that is not too long."""
    if len(text) > MAX_CHARACTERS:
        raise out_of_memory()
    return text


def show(value: Any) -> str:
    """A value as Go's `%v` prints it: in errors such as `no such key: x`."""
    cls = value.__class__
    if cls is str:
        effort.spend(len(value))
        return value  # type: ignore[no-any-return]
    if cls is bool:
        return "true" if value else "false"
    if cls is int or cls is Uint:
        return str(int(value))
    if cls is float:
        return format_double(value)
    if value is None:
        return "0"
    if cls is bytes:
        effort.spend(4 * len(value))
        return f"[{' '.join([str(b) for b in value])}]"
    if cls in LIST_CLASSES:
        effort.spend(ELEMENT * len(value))
        return checked_length(f"[{', '.join([show(v) for v in as_list(value)])}]")
    if cls in MAP_CLASSES:
        effort.spend(ENTRY * len(value))
        entries = [f"{show(k)}: {show(find(value, k))}" for k in value]
        return checked_length(f"{{{', '.join(entries)}}}")
    if cls is Duration:
        return format_duration(value.nanoseconds)
    if cls is Timestamp:
        from deviceselectors.runtime.times import go_text  # with the calendar, which is rarely needed

        return go_text(value)
    if cls is TypeValue:
        return value.text  # type: ignore[no-any-return]
    if cls is Optional:
        return "optional.none()" if value is NONE else f"optional({show(value.value)})"
    return str(value)


def not_optional_element(value: Any) -> CelError:
    """The error for `[?value]` with a value that is no optional."""
    return CelError(f"cannot initialize optional list element from non-optional value {show(value)}")


def not_optional_entry(key: Any, value: Any) -> CelError:
    """The error for `{?key: value}` with a value that is no optional."""
    return CelError(f"cannot initialize optional entry '{show(key)}' from non-optional value {show(value)}")
