"""Doubles as Go reads them (strconv.ParseFloat), and numbers and durations as its formatting prints them."""

from __future__ import annotations

from math import inf, isinf, isnan, nan

from resourceapi.go_text import mantissa, positional, shortest_digits, sign_of

_INFINITIES = frozenset(("inf", "infinity"))
_DECIMAL = "0123456789"
_HEXADECIMAL = _DECIMAL + "abcdef"
#: Go reads no more of an exponent's digits: ten to that power is out of any range, unless as many zeros make up for it.
_EXPONENT_DIGITS = 5


def parse_double(text: str) -> float | None:
    """The double that a text denotes, in time proportional to its length; None also when it is too large."""
    if not text.isascii():
        return None
    sign = -1.0 if text[:1] == "-" else 1.0
    lower = text.lower()
    unsigned = lower[1:] if lower[:1] in ("+", "-") else lower
    if unsigned in _INFINITIES:
        return sign * inf
    if lower == "nan":
        return nan
    value = _finite(unsigned)
    return None if value is None or isinf(value) else sign * value


def _finite(text: str) -> float | None:
    """A number in lower case without its sign; infinite when it is too large."""
    is_hexadecimal = text.startswith("0x")
    number, mark, power = text.partition("p" if is_hexadecimal else "e")
    whole, _, fraction = number.removeprefix("0x").partition(".")
    if not (whole or fraction) or (is_hexadecimal and not mark):
        return None
    allowed = _HEXADECIMAL if is_hexadecimal else _DECIMAL
    # an underscore may follow the prefix 0x as if its zero were a digit of the number
    digits = _digits(f"0{whole}" if is_hexadecimal else whole, allowed), _digits(fraction, allowed)
    minus = "-" if power[:1] == "-" else ""
    exponent = _digits(power[1:] if power[:1] in ("+", "-") else power, _DECIMAL)
    if None in digits or exponent is None or (mark and not exponent):
        return None
    exponent = minus + (exponent.lstrip("0")[:_EXPONENT_DIGITS] or "0")
    try:
        if is_hexadecimal:
            return float.fromhex("{}.{}p".format(*digits) + exponent)
        return float("{}.{}e".format(*digits) + exponent)
    except OverflowError:
        return inf


def _digits(text: str, allowed: str) -> str | None:
    """The digits without the underscores between them; None if there is anything else."""
    if "_" in text:
        if text[0] == "_" or text[-1] == "_" or "__" in text:
            return None
        text = text.replace("_", "")
    return None if text.strip(allowed) else text


def format_double(value: float) -> str:
    """A double as Go's `%v` and `%g` print it, the shortest digits that give it back."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, point = shortest_digits(value)
    exponent = point - 1
    if -4 <= exponent < 6:
        return sign_of(value) + positional(digits, point)
    return f"{sign_of(value)}{mantissa(digits)}e{exponent:+03d}"


def fixed_double(value: float) -> str:
    """A finite double without exponent (`%f` with the shortest digits)."""
    return sign_of(value) + positional(*shortest_digits(value))


def format_duration(nanoseconds: int) -> str:
    """A duration as Go's time.Duration prints itself: `1h0m0.5s`."""
    if nanoseconds == 0:
        return "0s"
    sign = "-" if nanoseconds < 0 else ""
    rest = abs(nanoseconds)
    if rest < 1_000_000_000:
        unit, scale = ("ns", 1) if rest < 1_000 else ("µs", 1_000) if rest < 1_000_000 else ("ms", 1_000_000)
        return f"{sign}{_with_fraction(rest, scale)}{unit}"
    seconds, fraction = divmod(rest, 1_000_000_000)
    minutes, seconds = divmod(seconds, 60)
    text = _with_fraction(seconds * 1_000_000_000 + fraction, 1_000_000_000) + "s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{minutes}m{text}"
        if hours:
            text = f"{hours}h{text}"
    return sign + text


def _with_fraction(amount: int, scale: int) -> str:
    whole, fraction = divmod(amount, scale)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).zfill(len(str(scale)) - 1).rstrip('0')}"
