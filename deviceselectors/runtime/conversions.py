"""Type conversions: `int(x)`, `string(x)`, `timestamp(x)`, ...

Source: the CEL language definition; the accepted texts are those of Go's strconv and time.
"""

from __future__ import annotations

import re
from typing import Any

from deviceselectors.runtime import effort, times
from deviceselectors.runtime.number_text import format_double
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

_BOOLS = {
    "1": True, "t": True, "T": True, "TRUE": True, "true": True, "True": True,
    "0": False, "f": False, "F": False, "FALSE": False, "false": False, "False": False,
}  # fmt: skip
_MAX_DIGITS = 10_240


def _mismatch(source: str, target: str) -> CelError:
    return CelError(f"type conversion error from '{source}' to '{target}'")


def identity(value: Any) -> Any:
    return value


def type_of(value: Any) -> TypeValue:
    return TypeValue(type_name(value))


def string_to_bool(text: str) -> bool:
    effort.spend(len(text))
    value = _BOOLS.get(text)
    if value is None:
        raise _mismatch("string", "bool")
    return value


def string_to_int(text: str) -> int:
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


def string_to_uint(text: str) -> Uint:
    effort.spend(len(text))
    if text.isascii() and text.isdigit() and len(text) < _MAX_DIGITS:
        value = _parse_digits(text, negative=False)
        if value is not None and value <= UINT_MAX:
            return Uint(value)
    raise _mismatch("string", "uint")


def string_to_double(text: str) -> float:
    effort.spend(len(text))
    value = _parse_float(text)
    if value is None:
        raise _mismatch("string", "double")
    return value


def _parse_float(text: str) -> float | None:
    """A float as Go's strconv.ParseFloat takes it; None also when it is too large."""
    body = text[1:] if text[:1] in ("+", "-") else text
    lower = body.lower()
    if lower in ("inf", "infinity"):
        return float("-inf") if text[0] == "-" else float("inf")
    if text.lower() == "nan":
        return float("nan")
    if not text.isascii() or not _underscores_fit(body):
        return None
    plain = text.replace("_", "")
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", plain):
        value = float(plain)
    elif re.fullmatch(r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+", plain):
        try:
            value = float.fromhex(plain)
        except OverflowError:
            return None
    else:
        return None
    return None if value in (float("inf"), float("-inf")) else value


def _underscores_fit(body: str) -> bool:
    """Underscores only between digits, or between base prefix and digit."""
    if "_" not in body:
        return True
    hexadecimal = body[:2] in ("0x", "0X")
    digits = "0123456789abcdefABCDEF" if hexadecimal else "0123456789"
    previous_is_digit = hexadecimal
    after_underscore = False
    for c in body[2:] if hexadecimal else body:
        if c in digits:
            previous_is_digit, after_underscore = True, False
        elif c == "_":
            if not previous_is_digit:
                return False
            previous_is_digit, after_underscore = False, True
        elif after_underscore:
            return False
        else:
            previous_is_digit = False
    return not after_underscore


def string_to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def duration_from_string(text: str) -> Duration:
    duration = times.parse_duration(text)
    if duration is None:
        raise _mismatch("string", "google.protobuf.Duration")
    return duration


def timestamp_from_string(text: str) -> Timestamp:
    timestamp = times.parse_timestamp(text)
    if timestamp is None:
        raise _mismatch("string", "google.protobuf.Timestamp")
    if not times.in_range(timestamp):
        raise CelError("timestamp overflow")
    return timestamp


def timestamp_from_int(seconds: int) -> Timestamp:
    return times.from_seconds(seconds)


def double_to_int(value: float) -> int:
    # both ends are excluded, although -2^63 would fit
    if not float(INT_MIN) < value < float(INT_MAX):
        raise CelError("integer overflow")
    return int(value)


def uint_to_int(value: Uint) -> int:
    return checked_int(int(value))


def duration_to_int(value: Duration) -> int:
    return value.nanoseconds


def timestamp_to_int(value: Timestamp) -> int:
    return value.seconds


def int_to_uint(value: int) -> Uint:
    if value < 0:
        raise CelError("unsigned integer overflow")
    return Uint(value)


def double_to_uint(value: float) -> Uint:
    if not 0 <= value < 18446744073709551616.0:
        raise CelError("unsigned integer overflow")
    return Uint(int(value))


def int_to_double(value: int) -> float:
    return float(value)


def bool_to_string(value: bool) -> str:
    return "true" if value else "false"


def int_to_string(value: int) -> str:
    return str(int(value))


def double_to_string(value: float) -> str:
    return format_double(value)


def bytes_to_string(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def opaque_to_string(value: Any) -> str:
    return str(value)


_TO_STRING: dict[type, Any] = {
    bool: bool_to_string,
    int: int_to_string,
    Uint: int_to_string,
    float: double_to_string,
    bytes: bytes_to_string,
    Duration: times.duration_text,
    Timestamp: times.timestamp_text,
    TypeValue: lambda value: value.name,
    str: identity,
}


def to_string(value: Any) -> str:
    """Any scalar as `string()` and `format` convert it."""
    return _TO_STRING[value.__class__](value)  # type: ignore[no-any-return]
