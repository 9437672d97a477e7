"""Quantities: the numbers with a unit suffix (`40Gi`, `500m`, `2e3`) of capacities, counters and requests.

Grammar, canonical form and limits are those of the API's resource.Quantity (Kubernetes API concepts, "Quantity"),
as kube-apiserver 1.37 applies them, its oddities included: a text that is canonical enough is given back as written
(`1.100`, `+5`), a power of ten without a suffix is printed without one (`1000E` as `1`), whole-number readings of what
exceeds 64 bits wrap or become 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from resourceapi.objects import EMPTY, Object

DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"

FORMAT_ERROR = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMBER_ERROR = "unable to parse numeric part of quantity"
SUFFIX_ERROR = "unable to parse quantity's suffix"

# Bounds of our own: the server spends minutes on what is beyond them. No real quantity has more than 30 digits.
MAX_DIGITS = 4000
TOO_MANY_DIGITS_ERROR = f"quantities of more than {MAX_DIGITS} digits are not supported"

_MAX_INT64 = (1 << 63) - 1
_NANO = -9
_INT64_DIGITS = 18

# Multiplying by these powers of ten wraps on overflow, by others it gives 0.
_WRAPPING_SHIFTS = frozenset((1, 2, 3, 6, 9))

_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX_OF = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_SUFFIX_OF = {exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}


class QuantityError(ValueError):
    """A text is no quantity; the message is the server's."""


class Quantity:
    """An immutable quantity: exactly mantissa * 10**scale, and the format in which it is printed.

    Equality and hash are those of the number (`1k` == `1000`). `big` tells the two representations of the server
    apart, 64-bit and arbitrary size; they agree on everything but whole-number readings out of the 64-bit range.
    """

    __slots__ = ("_text", "big", "format", "mantissa", "scale", "written")

    def __init__(
        self,
        mantissa: int,
        scale: int = 0,
        format: str = DECIMAL_SI,
        *,
        big: bool = False,
        text: str | None = None,
    ) -> None:
        """`text` (later `written`) is the text that the quantity was read from, if it is printed so."""
        self.mantissa = mantissa
        self.scale = scale
        self.format = format
        self.big = big
        self._text = self.written = text

    def __str__(self) -> str:
        """The form in which the server prints it."""
        if self._text is None:
            self._text = self.canonical()
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self.cmp(other) == 0 if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        if not self.mantissa:
            return 0
        digits, exponent = _strip_tens(self.mantissa, self.scale)
        return hash((digits, exponent))

    def is_zero(self) -> bool:
        """Whether the amount is 0."""
        return not self.mantissa

    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.mantissa > 0) - (self.mantissa < 0)

    def is_fractional(self) -> bool:
        """Whether it is no whole number."""
        if self.scale >= 0 or not self.mantissa:
            return False
        unit: int = 10**-self.scale
        return self.mantissa % unit != 0

    def cmp(self, other: Quantity) -> int:
        """-1, 0 or 1 as the number is less than, equal to or greater than the other's."""
        if self.scale == other.scale:
            return (self.mantissa > other.mantissa) - (self.mantissa < other.mantissa)
        shift = self.scale - other.scale
        if not -_INT64_DIGITS < shift < _INT64_DIGITS:
            sign = self.sign()
            if sign != other.sign() or not sign:
                return (sign > other.sign()) - (sign < other.sign())
            low, high = _decimal_magnitude(self)
            other_low, other_high = _decimal_magnitude(other)
            if low >= other_high:
                return sign
            if high <= other_low:
                return -sign
        # Far apart only if the magnitudes overlap: the difference is about the number of digits at most.
        mine: int = self.mantissa * 10**shift if shift > 0 else self.mantissa
        others: int = other.mantissa if shift > 0 else other.mantissa * 10**-shift
        return (mine > others) - (mine < others)

    def cmp_int(self, value: int) -> int:
        """`cmp` with a whole number."""
        return self.cmp(Quantity(value))

    def add(self, other: Quantity) -> Quantity:
        """The sum; zero takes on the other's format."""
        return self._plus(other, 1)

    def sub(self, other: Quantity) -> Quantity:
        """The difference; zero takes on the other's format."""
        return self._plus(other, -1)

    def _plus(self, other: Quantity, sign: int) -> Quantity:
        if self.scale == other.scale and self.mantissa and other.mantissa and not (self.big or other.big):
            total = self.mantissa + sign * other.mantissa
            return Quantity(total, self.scale, self.format, big=not _is_int64(total))
        format = self.format if self.mantissa else other.format
        both_small = not (self.big or other.big)
        if both_small and not other.mantissa:
            return Quantity(self.mantissa, self.scale, format)
        if both_small and not self.mantissa:
            return Quantity(sign * other.mantissa, other.scale, format)
        scale = min(self.scale, other.scale)
        if max(self.scale, other.scale) - scale > MAX_DIGITS:
            # One is thousands of digits smaller than the other: the sum is not worth its memory.
            larger = self if self.scale > other.scale else Quantity(sign * other.mantissa, other.scale)
            return Quantity(larger.mantissa, larger.scale, format, big=True)
        mine = self.mantissa * 10 ** (self.scale - scale)
        others = sign * other.mantissa * 10 ** (other.scale - scale)
        fits = both_small and _is_int64(mine) and _is_int64(others) and _is_int64(mine + others)
        return Quantity(mine + others, scale, format, big=not fits)

    def times(self, other: Quantity) -> Quantity:
        """The product, in this format."""
        product = self.mantissa * other.mantissa
        big = self.big or other.big or not _is_int64(product)
        return Quantity(product, self.scale + other.scale, self.format, big=big)

    def value(self) -> int:
        """The whole number, rounded away from zero, as 64-bit code reads it: wrapped or 0 if it does not fit."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """The number of thousandths, rounded away from zero, as 64-bit code reads it."""
        return self.scaled_value(-3)

    def scaled_value(self, scale: int) -> int:
        """The number in units of 10**scale, as 64-bit code reads it."""
        shift = self.scale - scale
        if self.big:
            return _scaled_big(self.mantissa, shift)
        if shift < 0:
            return _round_away(self.mantissa, -shift)
        if shift in _WRAPPING_SHIFTS:
            return _wrap_int64(self.mantissa * 10**shift)
        scaled = self.mantissa * 10 ** min(shift, 19)
        return scaled if _is_int64(scaled) else 0

    def is_milli(self) -> bool:
        """Whether it is a whole number of thousandths that 64-bit code reads right."""
        return self.cmp(Quantity(self.milli_value(), -3)) == 0

    def as_int64(self) -> int | None:
        """The whole number if the server reads it without rounding: not for fractions, nor for big ones."""
        if self.big or self.scale < 0 or (self.scale > 19 and self.mantissa):
            return None
        scaled = self.mantissa * 10 ** min(self.scale, 19)
        return scaled if _is_int64(scaled) else None

    def approximate_float(self) -> float:
        """The nearest float that the server computes (CEL's asApproximateFloat); may be infinite."""
        try:
            base = float(self.mantissa)
        except OverflowError:
            base = math.inf * self.sign()
        return base if not self.scale else base * _power_of_ten(self.scale)

    def dec_string(self) -> str:
        """The digits with a decimal point, written out; the server's key for telling set members apart."""
        if self.scale > MAX_DIGITS or self.scale < -MAX_DIGITS:
            return f"{_digits(self.mantissa)}e{self.scale}"
        digits = _digits(abs(self.mantissa))
        sign = "-" if self.mantissa < 0 else ""
        if self.scale >= 0:
            return sign + digits + ("0" * self.scale if self.mantissa else "")
        digits = digits.rjust(1 - self.scale, "0")
        return f"{sign}{digits[: self.scale]}.{digits[self.scale :]}"

    def canonical(self) -> str:
        """No fraction, the greatest suffix that keeps the number exact."""
        if not self.mantissa:
            return "0"
        if self.format == BINARY_SI and self.scale <= MAX_DIGITS and not self.is_fractional():
            amount = self._whole()
            if abs(amount) >= 1024:
                return _canonical_binary(amount)
        digits, exponent = _strip_tens(self.mantissa, self.scale)
        excess = exponent % 3
        digits += "0" * excess
        exponent -= excess
        if self.format in (DECIMAL_SI, BINARY_SI):
            return digits + _DECIMAL_SUFFIX_OF.get(exponent, "")
        return f"{digits}e{exponent}" if exponent else digits

    def _whole(self) -> int:
        """The number, which is a whole one."""
        unit: int = 10 ** abs(self.scale)
        return self.mantissa * unit if self.scale >= 0 else self.mantissa // unit


ZERO = Quantity(0, 0, DECIMAL_SI, text="0")
# What a null becomes: it has no format of its own.
UNSET = Quantity(0, 0, "", text="0")


def parse(text: str) -> Quantity:
    """The quantity that a text denotes; surrounding space is not allowed.

    :raises QuantityError: with the server's message.
    """
    if text == "0":
        return ZERO
    number, fraction, suffix, has_digits = _split(text)
    base, exponent, format = _interpret_suffix(suffix)
    digits = len(number) + len(fraction)
    if digits > MAX_DIGITS:
        raise QuantityError(TOO_MANY_DIGITS_ERROR)
    mantissa = int(number + fraction)
    if text[0] == "-":
        mantissa = -mantissa
    if base == 2:
        small = not fraction and 14 - len(number) - exponent * 3 // 10 >= 0
        scale = 0
    else:
        scale = _wrap_int32(exponent - len(fraction))
        small = digits <= _INT64_DIGITS and scale >= _NANO
    if small:
        return _small(text, mantissa, scale, number + fraction, base, exponent, format)
    if not has_digits:
        raise QuantityError(NUMBER_ERROR)
    # The server computes the scale anew here; it differs from the one above only in where it wraps.
    return _big(
        mantissa,
        -len(fraction) if base == 2 else -_wrap_int32(len(fraction) - exponent),
        base,
        exponent,
        format,
    )


def from_json(value: object) -> Quantity:
    """The quantity in a decoded JSON or YAML value: a text, number or null.

    :raises QuantityError: with the server's message.
    """
    if value is None:
        return UNSET
    if isinstance(value, str):
        if not value.isprintable() and any(c < " " or c in "\u2028\u2029" for c in value):
            # The server sees these as JSON's escapes, so that even a tab at the end is no space to be trimmed.
            raise QuantityError(FORMAT_ERROR)
        return parse(value.strip())
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        raise QuantityError(FORMAT_ERROR)  # a boolean, list or object, or no finite number
    if isinstance(value, int):
        return parse(_digits(value))
    from resourceapi.go_text import json_float

    return parse(json_float(value))


def _split(text: str) -> tuple[str, str, str, bool]:
    """Whole digits without leading zeros, fraction digits, suffix, and whether there is any digit before the suffix."""
    if not text:
        raise QuantityError(FORMAT_ERROR)
    body = text[1:] if text[0] in "+-" else text
    unpadded = body.lstrip("0")
    if not unpadded:
        return "0", "", "", True
    rest = unpadded.lstrip("0123456789")
    number = unpadded[: len(unpadded) - len(rest)]
    fraction = ""
    if rest and rest[0] == ".":
        fraction_and_suffix = rest[1:]
        rest = fraction_and_suffix.lstrip("0123456789")
        fraction = fraction_and_suffix[: len(fraction_and_suffix) - len(rest)]
    if rest:
        tail = rest.lstrip("eEinumkKMGTP")
        if tail and (tail[1:] if tail[0] in "+-" else tail).strip("0123456789"):
            raise QuantityError(FORMAT_ERROR)
    return number or "0", fraction, rest, bool(number or fraction or len(unpadded) < len(body))


def _interpret_suffix(suffix: str) -> tuple[int, int, str]:
    """Base, exponent and format."""
    exponent = _DECIMAL_SUFFIXES.get(suffix)
    if exponent is not None:
        return 10, exponent, DECIMAL_SI
    exponent = _BINARY_SUFFIXES.get(suffix)
    if exponent is not None:
        return 2, exponent, BINARY_SI
    if suffix[0] in "eE":
        power = suffix[1:].lstrip("+-")
        # At most one sign can be here; a number of more digits than a 64-bit one is out of range, but for zeros.
        if power.isdecimal() and len(power.lstrip("0")) <= 19:
            parsed = int(power.lstrip("0") or "0") * (-1 if suffix[1] == "-" else 1)
            if _is_int64(parsed):
                return 10, _wrap_int32(parsed), DECIMAL_EXPONENT
    raise QuantityError(SUFFIX_ERROR)


def _small(
    text: str, mantissa: int, scale: int, digits: str, base: int, exponent: int, format: str
) -> Quantity:
    """A quantity of the 64-bit representation, which keeps a text that is canonical by a cheap test."""
    if base == 2:
        keeps_text = mantissa & 7 != 0
        mantissa <<= exponent
    else:
        keeps_text = scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    return Quantity(mantissa, scale, format, text=text if keeps_text else None)


def _big(mantissa: int, scale: int, base: int, exponent: int, format: str) -> Quantity:
    """A quantity of arbitrary size: at least a billionth, and, with a binary suffix, within 64 bits."""
    if not mantissa:
        return Quantity(0, scale, format, big=True)
    if base == 2:
        mantissa <<= exponent
    if scale < _NANO:
        mantissa, scale = _round_away(mantissa, _NANO - scale), _NANO
    elif scale - _NANO <= MAX_DIGITS:
        mantissa, scale = mantissa * 10 ** (scale - _NANO), _NANO
    if base == 2:
        if abs(mantissa) > _MAX_INT64 * 10**9:
            mantissa, scale = (_MAX_INT64 if mantissa > 0 else -_MAX_INT64), 0
        elif abs(mantissa) < 10**9:
            format = DECIMAL_SI
    return Quantity(mantissa, scale, format, big=True)


def _is_int64(value: int) -> bool:
    return -_MAX_INT64 - 1 <= value <= _MAX_INT64


def _wrap_int32(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _wrap_int64(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _round_away(mantissa: int, places: int) -> int:
    """``mantissa / 10**places``, rounded away from zero."""
    sign = -1 if mantissa < 0 else 1
    if places > MAX_DIGITS + 20:
        return sign if mantissa else 0
    unit: int = 10**places
    return -(-abs(mantissa) // unit) * sign


def _scaled_big(mantissa: int, shift: int) -> int:
    """``mantissa * 10**shift`` as the server computes it for quantities of arbitrary size, wrapping at 64 bits."""
    if shift >= 0:
        # A power of ten that does not fit becomes the least 64-bit number.
        power = 10**shift if shift <= _INT64_DIGITS else -_MAX_INT64 - 1
        return _wrap_int64(_wrap_int64(mantissa) * power)
    if not mantissa:
        return 0
    if mantissa < _MAX_INT64 and -shift < 19:
        wrapped = _wrap_int64(mantissa)
        unit: int = 10**-shift
        quotient, rest = divmod(abs(wrapped), unit)
        # Negative numbers are not rounded away from zero here, but up by one from the truncated quotient.
        return (quotient if wrapped >= 0 else -quotient) + (rest != 0)
    if -shift > MAX_DIGITS + 20:
        return _wrap_int64((-1 if mantissa < 0 else 0) + 1)
    divisor: int = 10**-shift
    return _wrap_int64(_wrap_int64(mantissa // divisor) + (mantissa % divisor != 0))


def _decimal_magnitude(quantity: Quantity) -> tuple[float, float]:
    """Bounds of log10 of the absolute number, which is not zero."""
    bits = quantity.mantissa.bit_length()
    return (bits - 1) * 0.30102 + quantity.scale, bits * 0.30104 + quantity.scale


def _canonical_binary(amount: int) -> str:
    """A whole number that is not zero, with the greatest binary suffix."""
    exponent = 0
    while amount % 1024 == 0:
        amount //= 1024
        exponent += 10
    return _digits(amount) + _BINARY_SUFFIX_OF.get(exponent, "")


def _strip_tens(mantissa: int, scale: int) -> tuple[str, int]:
    """The digits without trailing zeros, and the scale that goes with them."""
    digits = _digits(mantissa)
    stripped = digits.rstrip("0")
    return stripped, scale + len(digits) - len(stripped)


def _digits(value: int) -> str:
    """The decimal digits; without Python's limit on their number."""
    if value.bit_length() < 14000:
        return str(value)
    from decimal import Decimal

    return format(Decimal(value), "f")


def _power_of_ten(exponent: int) -> float:
    """10.0**exponent as Go computes it: from two table entries, so not always the nearest float."""
    if exponent < -323:
        return 0.0
    if exponent > 308:
        return math.inf
    coarse, fine = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(f"1e{32 * coarse}") * float(f"1e{fine}")
    return float(f"1e-{32 * coarse}") / float(f"1e{fine}")


# Quantities by name; those of capacities and counters are objects with a `value`.

Amounts = dict[str, Quantity]


def amounts_of(values: Mapping[str, Any] | None) -> Amounts:
    """The amounts of a JSON object, such as `resources.requests`.

    :raises resourceapi.quantity.QuantityError: if one is no quantity.
    """
    return {name: from_json(value) for name, value in (values or {}).items()}


def value_of(entry: Object | None) -> Quantity:
    """The `value` of a DeviceCapacity or Counter in normal form; one that is not set is 0."""
    value: Quantity = (entry or EMPTY).get("value", UNSET)
    return value


def values_of(entries: Mapping[str, Object] | None) -> dict[str, Quantity]:
    """The quantities of capacities or counters by name."""
    return {name: value_of(entry) for name, entry in (entries or EMPTY).items()}


def added(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """The sum, name by name."""
    total = dict(one)
    for name, amount in other.items():
        total[name] = total[name].add(amount) if name in total else amount
    return total
