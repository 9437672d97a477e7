"""Numbers and durations as Go's formatting prints them."""

from __future__ import annotations

from math import isinf, isnan


def format_double(value: float) -> str:
    """A double as Go's `%v` and `%g` print it, the shortest digits that give it back."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, point = _shortest(value)
    exponent = point - 1
    if exponent < -4 or exponent >= 6:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + _positional(digits, point)


def fixed_double(value: float) -> str:
    """A finite double without exponent (`%f` with the shortest digits)."""
    sign, digits, point = _shortest(value)
    return sign + _positional(digits, point)


def _shortest(value: float) -> tuple[str, str, int]:
    """Sign, significant digits, and how many of them stand before the point."""
    text = repr(value)
    sign = ""
    if text[0] == "-":
        sign, text = "-", text[1:]
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    return (sign, digits, point) if digits else (sign, "0", 1)


def _positional(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits
    if len(digits) <= point:
        return digits + "0" * (point - len(digits))
    return digits[:point] + "." + digits[point:]


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
