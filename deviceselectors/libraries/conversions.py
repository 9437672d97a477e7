"""Conversions of types: `int(x)`, `string(x)`, `timestamp(x)`, and `type(x)`.

Source: the CEL language definition; the accepted strings are those of Go's strconv and time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deviceselectors.ast import Call, Literal
from deviceselectors.libraries import actual_costs, max_sizes
from deviceselectors.libraries.estimates import Argument, wrapped
from deviceselectors.libraries.function import Function, Overload
from deviceselectors.libraries.max_sizes import MaxSize
from deviceselectors.runtime import effort, times
from deviceselectors.runtime.number_text import format_double, parse_double
from deviceselectors.runtime.operators import checked_int
from deviceselectors.runtime.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    CelError,
    Duration,
    Timestamp,
    TypeValue,
    Uint,
    type_name,
)
from deviceselectors.sizes import TRAVERSAL, Size, scale

if TYPE_CHECKING:
    from deviceselectors.issues import Issues

_BOOLS = {
    "1": True, "t": True, "T": True, "TRUE": True, "true": True, "True": True,
    "0": False, "f": False, "F": False, "FALSE": False, "false": False, "False": False,
}  # fmt: skip
_MAX_DIGITS = 10_240


def _mismatch(source: str, target: str) -> CelError:
    return CelError(f"type conversion error from '{source}' to '{target}'")


def _identity(value: Any) -> Any:
    return value


def _string_to_bool(text: str) -> bool:
    effort.spend(len(text))
    value = _BOOLS.get(text)
    if value is None:
        raise _mismatch("string", "bool")
    return value


def _string_to_int(text: str) -> int:
    effort.spend(len(text))
    digits = text[1:] if text[:1] in ("+", "-") else text
    if digits.isascii() and digits.isdigit() and len(digits) < _MAX_DIGITS:
        value = _parse_digits(digits, negative=text[0] == "-")
        if value is not None and INT_MIN <= value <= INT_MAX:
            return value
    raise _mismatch("string", "int")


def _parse_digits(digits: str, negative: bool) -> int | None:
    digits = digits.lstrip("0") or "0"
    if len(digits) > 20:
        return None
    return -int(digits) if negative else int(digits)


def _string_to_uint(text: str) -> Uint:
    effort.spend(len(text))
    if text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS:
        value = _parse_digits(text, negative=False)
        if value is not None and value <= UINT_MAX:
            return Uint(value)
    raise _mismatch("string", "uint")


def _string_to_double(text: str) -> float:
    effort.spend(len(text))
    value = parse_double(text)
    if value is None:
        raise _mismatch("string", "double")
    return value


def _duration_from_string(text: str) -> Duration:
    duration = times.parse_duration(text)
    if duration is None:
        raise _mismatch("string", "google.protobuf.Duration")
    return duration


def _duration_from_int(number: int) -> Duration:
    """Declared up to 1.34, though there is no such conversion."""
    raise _mismatch("int", "google.protobuf.Duration")


def _timestamp_from_string(text: str) -> Timestamp:
    timestamp = times.parse_timestamp(text)
    if timestamp is None:
        raise _mismatch("string", "google.protobuf.Timestamp")
    if not times.in_range(timestamp):
        raise CelError("timestamp overflow")
    return timestamp


def _double_to_int(value: float) -> int:
    # both ends are excluded, although -2^63 would fit
    if not float(INT_MIN) < value < float(INT_MAX):
        raise CelError("integer overflow")
    return int(value)


def _int_to_uint(value: int) -> Uint:
    if value < 0:
        raise CelError("unsigned integer overflow")
    return Uint(value)


def _double_to_uint(value: float) -> Uint:
    if not 0 <= value < 18446744073709551616.0:
        raise CelError("unsigned integer overflow")
    return Uint(int(value))


def _int_to_double(value: int) -> float:
    return float(value)


def _bool_to_string(value: bool) -> str:
    return "true" if value else "false"


def _int_to_string(value: int) -> str:
    return str(int(value))


def _double_to_string(value: float) -> str:
    return format_double(value)


def _bytes_to_string(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


_TO_STRING: dict[type, Any] = {
    bool: _bool_to_string,
    int: _int_to_string,
    Uint: _int_to_string,
    float: _double_to_string,
    bytes: _bytes_to_string,
    Duration: times.duration_text,
    Timestamp: times.timestamp_text,
    TypeValue: lambda value: value.name,
    str: _identity,
}


def to_string(value: Any) -> str:
    """Any scalar as `string()` and `format` convert it."""
    return _TO_STRING[value.__class__](value)  # type: ignore[no-any-return]


# ---------------------------------------------------------------- checks of literals


def _check_duration(node: Call, issues: Issues) -> None:
    value = _literal(node)
    if value is not None and not _is_duration(value.value):
        issues.report(value.position, "invalid duration argument")


def _check_timestamp(node: Call, issues: Issues) -> None:
    value = _literal(node)
    if value is not None and not _is_timestamp(value.value):
        issues.report(value.position, "invalid timestamp argument")


def _literal(node: Call) -> Literal | None:
    return node.args[0] if node.args and isinstance(node.args[0], Literal) else None


def _is_duration(value: object) -> bool:
    return isinstance(value, str) and times.parse_duration(value) is not None


def _is_timestamp(value: object) -> bool:
    try:
        if isinstance(value, str):
            _timestamp_from_string(value)
            return True
        if isinstance(value, int):
            times.from_seconds(value)
            return True
    except ValueError:
        pass
    return False


# ---------------------------------------------------------------- costs

#: The longest string that a number, duration or the like becomes.
_LONGEST_SCALAR = 64


def _estimate_bytes(arguments: list[Argument]) -> tuple[int, Size | None]:
    least, most = arguments[0].size
    return scale(most, TRAVERSAL), (least, wrapped(most * 4))


def _estimate_string(arguments: list[Argument]) -> tuple[int, Size | None]:
    least, most = arguments[0].size
    return scale(most, TRAVERSAL), (least // 4, most)


# ---------------------------------------------------------------- rows

FUNCTIONS = (
    Function("dyn", Overload("to_dyn A > dyn"), run=_identity, folds=True, result_size=max_sizes.of_first),
    Function("type", Overload("type A > type(A)"), run=lambda value: TypeValue(type_name(value)), folds=True),
    Function(
        "bool",
        Overload("bool_to_bool bool > bool", _identity),
        Overload("string_to_bool string > bool", _string_to_bool),
        folds=True,
    ),
    Function(
        "bytes",
        Overload("bytes_to_bytes bytes > bytes", _identity),
        Overload(
            "string_to_bytes string > bytes",
            lambda text: text.encode("utf-8", "surrogatepass"),
            estimate=_estimate_bytes,
            cost=actual_costs.reads(0),
        ),
        folds=True,
        result_size=lambda sizes: MaxSize(sizes[0].count * 4),
    ),
    Function(
        "double",
        Overload("double_to_double double > double", _identity),
        Overload("int64_to_double int > double", _int_to_double),
        Overload("string_to_double string > double", _string_to_double),
        Overload("uint64_to_double uint > double", _int_to_double),
        folds=True,
    ),
    Function(
        "duration",
        Overload("duration_to_duration duration > duration", _identity),
        Overload("int64_to_duration int > duration", _duration_from_int, until=36),
        Overload("string_to_duration string > duration", _duration_from_string),
        folds=True,
        literal_check=_check_duration,
    ),
    Function(
        "int",
        Overload("int64_to_int64 int > int", _identity),
        Overload("double_to_int64 double > int", _double_to_int),
        Overload("duration_to_int64 duration > int", lambda value: value.nanoseconds),
        Overload("string_to_int64 string > int", _string_to_int),
        Overload("timestamp_to_int64 timestamp > int", lambda value: value.seconds),
        Overload("uint64_to_int64 uint > int", lambda value: checked_int(int(value))),
        folds=True,
    ),
    Function(
        "string",
        Overload("string_to_string string > string", _identity),
        Overload("bool_to_string bool > string", _bool_to_string),
        Overload(
            "bytes_to_string bytes > string",
            _bytes_to_string,
            estimate=_estimate_string,
            cost=actual_costs.reads(0),
        ),
        Overload("double_to_string double > string", _double_to_string),
        Overload("duration_to_string duration > string", times.duration_text),
        Overload("int64_to_string int > string", _int_to_string),
        Overload("timestamp_to_string timestamp > string", times.timestamp_text),
        Overload("uint64_to_string uint > string", _int_to_string),
        folds=True,
        result_size=lambda sizes: MaxSize(max(sizes[0].count, _LONGEST_SCALAR)),
    ),
    Function(
        "timestamp",
        Overload("timestamp_to_timestamp timestamp > timestamp", _identity),
        Overload("int64_to_timestamp int > timestamp", times.from_seconds),
        Overload("string_to_timestamp string > timestamp", _timestamp_from_string),
        folds=True,
        literal_check=_check_timestamp,
    ),
    Function(
        "uint",
        Overload("uint64_to_uint64 uint > uint", _identity),
        Overload("double_to_uint64 double > uint", _double_to_uint),
        Overload("int64_to_uint64 int > uint", _int_to_uint),
        Overload("string_to_uint64 string > uint", _string_to_uint),
        folds=True,
    ),
)
