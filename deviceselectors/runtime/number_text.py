"""Numbers and durations as Go's formatting prints them."""

from __future__ import annotations

from math import isinf, isnan

from resourceapi.go_text import mantissa, positional, shortest_digits, sign_of


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
