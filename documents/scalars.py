"""The value of a YAML scalar, as kubectl's YAML library (go-yaml v2) resolves it.

That is YAML 1.1 with deviations: `y`, `n`, `on` and `off` are booleans, integers follow Go's literal
syntax (`0x`, `0o`, `0b`, a leading zero for octal, underscores anywhere), there are no base-60 numbers,
and dates stay strings. The value then passes through JSON, which has no infinities and whose
whole numbers are 64 bits wide; see `json_float` and `json_integer`.
"""

from __future__ import annotations

import re
from math import isfinite, isnan
from typing import Any

_INT64_MIN = -(2**63)
_INT64_MAX = 2**63 - 1
_UINT64_MAX = 2**64 - 1
# Go prints a float without exponent below this, so JSON's reader cannot tell it from an integer.
_PLAIN_FLOAT_LIMIT = 1e21

_INFINITY = float("inf")

WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), _INFINITY),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -_INFINITY),
}
"""Plain scalars with a meaning of their own. All others are strings unless they look like a number."""

NUMBER_START = frozenset("+-.0123456789")
"""Only plain scalars that begin with one of these can be numbers."""

_decimal_integer = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})").fullmatch


class UnrepresentableNumber(ValueError):
    """A number that JSON has no way to write; the text is the one Go's encoder gives."""


def resolve_plain(text: str) -> Any:
    """The value of an untagged plain scalar: str, int, float, bool or None.

    Floats may be infinite or not a number, integers as wide as 64 bits unsigned: what JSON makes of
    them is the caller's next step, because mapping keys are not passed through it.
    """
    if text in WORDS:
        return WORDS[text]
    if text[0] not in NUMBER_START:
        return text
    if text[0] == ".":
        return _dotted_float(text)
    number = _number(text)
    return text if number is None else number


def json_integer(number: int) -> int | float:
    """What a whole number is after kubectl has read its own JSON: beyond int64 it becomes a float."""
    if _INT64_MIN <= number <= _INT64_MAX:
        return number
    try:
        return json_float(float(number))
    except OverflowError:
        raise UnrepresentableNumber(f"number {str(number)[:20]}... is out of range") from None


def json_float(number: float) -> int | float:
    """What a float is once written as JSON and read back: whole numbers below 1e21 lose their point."""
    if not isfinite(number):
        text = "NaN" if isnan(number) else "+Inf" if number > 0 else "-Inf"
        raise UnrepresentableNumber(f"JSON cannot hold this number (json: unsupported value: {text})")
    if not number.is_integer() or abs(number) >= _PLAIN_FLOAT_LIMIT:
        return number
    return _whole(number)


def _whole(number: float) -> int:
    """The integer whose digits are the shortest ones that identify the float, as Go prints it."""
    if abs(number) < 2**53:
        return int(number)
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if not exponent:
        return int(whole)
    fraction = fraction.rstrip("0")
    return int(whole + fraction + "0" * (int(exponent) - len(fraction)))


def _dotted_float(text: str) -> Any:
    if re.fullmatch(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?", text) is None:
        return text
    number = float(text.replace("_", ""))
    return text if number == _INFINITY else number


def _number(text: str) -> int | float | None:
    """The number that a scalar with a leading digit or sign is, or None when it is a string."""
    if _decimal_integer(text):
        return int(text)
    plain = text.replace("_", "")
    integer = _go_integer(plain)
    if integer is not None:
        return integer
    if re.fullmatch(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", plain) is None:
        return None
    number = float(plain)
    return None if number in (_INFINITY, -_INFINITY) else number


def _go_integer(text: str) -> int | None:
    """An integer in Go's literal syntax that fits 64 bits; a leading zero alone means octal."""
    matched = re.fullmatch(
        r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|([1-9][0-9]*|0))", text
    )
    if matched is None:
        return None
    sign, hexadecimal, octal, binary, decimal = matched.groups()
    digits = (hexadecimal or octal or binary or decimal).lstrip("0") or "0"
    if len(digits) > 64:
        return None
    number = int(digits, 16 if hexadecimal else 8 if octal else 2 if binary else 10)
    if sign == "-":
        return -number if -number >= _INT64_MIN else None
    if number > (_UINT64_MAX if not sign else _INT64_MAX):
        return None
    return number


def key_text(key: Any) -> str:
    """The JSON key for a mapping key: booleans and numbers are written out; raises ValueError for null."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int) and key <= _INT64_MAX:
        return str(key)
    if isinstance(key, float):
        return _float_key(key)
    raise ValueError("null" if key is None else f"the number {key}")


def _float_key(key: float) -> str:
    """A float as the shortest text that identifies it among 32-bit floats (Go's 'g' format)."""
    from struct import pack, unpack

    if isnan(key):
        return ".nan"
    try:
        packed = pack("f", key)
    except OverflowError:
        packed = pack("f", _INFINITY if key > 0 else -_INFINITY)
    (single,) = unpack("f", packed)
    if single in (_INFINITY, -_INFINITY):
        return ".inf" if single > 0 else "-.inf"
    for precision in range(9):
        scientific = f"{single:.{precision}e}"
        if pack("f", float(scientific)) == packed:
            break
    mantissa, _, exponent = scientific.partition("e")
    if -4 <= int(exponent) < 6:
        return f"{single:.{max(precision - int(exponent), 0)}f}"
    return f"{mantissa}e{exponent}"
