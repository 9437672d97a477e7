"""Durations and timestamps: their texts, and the parts that functions such as `getHours()` return.

Source: RFC 3339 and Go's package time, whose leniencies are kept (one-digit hours, a comma before the fraction).
"""

from __future__ import annotations

from typing import Any

from deviceselectors.runtime import effort
from deviceselectors.runtime.number_text import fixed_double
from deviceselectors.runtime.values import INT_MAX, CelError, Duration, Timestamp
from resourceapi.go_text import quote
from resourceapi.times import days_in_month, is_leap

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_DIGITS = "0123456789"
_DAY = 86400
_EARLIEST, _LATEST = -62135596800, 253402300799


# ---------------------------------------------------------------- durations


def parse_duration(text: str) -> Duration | None:
    """A duration such as `1h30m`, `-1.5s` or `0`; None where Go's time.ParseDuration fails."""
    effort.spend(len(text))
    sign = -1 if text[:1] == "-" else 1
    start = 1 if text[:1] in ("+", "-") and text else 0
    if text[start:] == "0":
        return Duration(0)
    total = 0
    position = start
    while True:
        whole, position = _span(text, position, True)
        fraction = ""
        if text[position : position + 1] == ".":
            fraction, position = _span(text, position + 1, True)
        name, position = _span(text, position, False)
        unit = _UNITS.get(name)
        if unit is None or not (whole or fraction) or len(whole) > 30:
            return None
        total += int(whole or 0) * unit + _fraction(fraction, unit)
        if total > INT_MAX + 1:
            return None
        if position == len(text):
            break
    if sign < 0:
        return Duration(-total)
    return Duration(total) if total <= INT_MAX else None


def _span(text: str, start: int, are_digits: bool) -> tuple[str, int]:
    """The digits from a position on, or what is neither a digit nor a point; and where that ends."""
    end = start
    while end < len(text) and (text[end] in _DIGITS) is are_digits and text[end] != ".":
        end += 1
    return text[start:end], end


def _fraction(digits: str, unit: int) -> int:
    """The part of a unit, as Go computes it: in floating point, from as many digits as 63 bits hold."""
    value, scale = 0, 1.0
    for c in digits:
        if value > INT_MAX // 10 or value * 10 + int(c) > INT_MAX + 1:
            break
        value = value * 10 + int(c)
        scale *= 10
    return int(float(value) * (float(unit) / scale))


def duration_text(duration: Duration) -> str:
    """`string(duration)`: seconds."""
    return fixed_double(duration_seconds(duration)) + "s"


def duration_seconds(duration: Duration) -> float:
    """The seconds of a duration, with decimals."""
    seconds, nanoseconds = _divide(duration.nanoseconds, 1_000_000_000)
    return float(seconds) + float(nanoseconds) / 1e9


def _divide(amount: int, unit: int) -> tuple[int, int]:
    """Quotient and rest, truncated towards zero."""
    quotient, rest = divmod(abs(amount), unit)
    return (quotient, rest) if amount >= 0 else (-quotient, -rest)


def duration_hours(duration: Duration) -> int:
    """The whole hours of a duration."""
    return _divide(duration.nanoseconds, _UNITS["h"])[0]


def duration_minutes(duration: Duration) -> int:
    """The whole minutes of a duration."""
    return _divide(duration.nanoseconds, _UNITS["m"])[0]


def duration_whole_seconds(duration: Duration) -> int:
    """The whole seconds of a duration."""
    return int(duration_seconds(duration))


def duration_milliseconds(duration: Duration) -> int:
    """The whole milliseconds of a duration."""
    return _divide(duration.nanoseconds, _UNITS["ms"])[0]


# ---------------------------------------------------------------- timestamps


def parse_timestamp(text: str) -> Timestamp | None:
    """An RFC 3339 timestamp; None where Go's time.Parse fails. It may lie out of CEL's range (`in_range`)."""
    effort.spend(len(text))
    date, time = text[:10], text[11:]
    if len(date) < 10 or date[4] != "-" or date[7] != "-" or text[10:11] != "T":
        return None
    parts = (date[:4], date[5:7], date[8:10])
    if not all(_is_number(p) for p in parts):
        return None
    year, month, day = int(parts[0]), int(parts[1]), int(parts[2])
    if not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
        return None
    clock = _parse_clock(time)
    if clock is None:
        return None
    seconds, nanosecond, offset = clock
    return Timestamp(days_since_epoch(year, month, day) * _DAY + seconds - offset, nanosecond, offset)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _parse_clock(text: str) -> tuple[int, int, int] | None:
    """Seconds of the day, nanoseconds, and the zone's offset of `15:04:05.999Z` or `15:04:05+02:00`."""
    if text[1:2] == ":":
        text = "0" + text
    hour, minute, second = text[:2], text[3:5], text[6:8]
    if (
        text[2:3] != ":"
        or text[5:6] != ":"
        or not all(_is_number(p) and len(p) == 2 for p in (hour, minute, second))
    ):
        return None
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    rest = text[8:]
    nanosecond = 0
    if rest[:1] in (".", ",") and rest[1:2] and rest[1] in _DIGITS:
        after = rest[1:].lstrip(_DIGITS)
        digits = rest[1 : len(rest) - len(after)]
        nanosecond = int(digits[:9].ljust(9, "0"))
        rest = after
    offset = _parse_offset(rest)
    if offset is None:
        return None
    return int(hour) * 3600 + int(minute) * 60 + int(second), nanosecond, offset


def _parse_offset(text: str) -> int | None:
    if text == "Z":
        return 0
    if len(text) != 6 or text[0] not in "+-" or text[3] != ":":
        return None
    hours, minutes = text[1:3], text[4:6]
    if not (_is_number(hours) and _is_number(minutes)) or int(hours) > 24 or int(minutes) > 60:
        return None
    offset = int(hours) * 3600 + int(minutes) * 60
    return -offset if text[0] == "-" else offset


def in_range(timestamp: Timestamp) -> bool:
    """Whether it is in the years 1 to 9999, which is all that CEL has."""
    return _EARLIEST <= timestamp.seconds <= _LATEST


def from_seconds(seconds: int) -> Timestamp:
    """`timestamp(seconds)`."""
    timestamp = Timestamp(seconds)
    if not in_range(timestamp):
        raise CelError("timestamp overflow")
    return timestamp


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date in the Gregorian calendar; years may be 0 or less."""
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400
    days += _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and is_leap(year))
    return days + day - 1 - 719162


class CivilTime:
    """The calendar fields of a timestamp in some zone."""

    __slots__ = ("day", "day_of_week", "day_of_year", "hour", "minute", "month", "second", "year")

    def __init__(self, seconds: int) -> None:
        """`seconds` since 1970, already shifted to the zone."""
        days, clock = divmod(seconds, _DAY)
        self.hour, rest = divmod(clock, 3600)
        self.minute, self.second = divmod(rest, 60)
        self.day_of_week = (days + 4) % 7
        # 400 years have 146097 days
        cycles, day = divmod(days + 719162, 146097)
        centuries = min(day // 36524, 3)
        day -= centuries * 36524
        fours, day = divmod(day, 1461)
        years = min(day // 365, 3)
        day -= years * 365
        self.year = cycles * 400 + centuries * 100 + fours * 4 + years + 1
        self.day_of_year = day
        leap = is_leap(self.year)
        month = 12
        while day < _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and leap):
            month -= 1
        self.month = month
        self.day = day - _DAYS_BEFORE_MONTH[month - 1] - (month > 2 and leap) + 1


def timestamp_text(timestamp: Timestamp) -> str:
    """`string(timestamp)`: RFC 3339 in the zone in which it was written, with the shortest fraction."""
    civil = CivilTime(timestamp.seconds + timestamp.offset)
    text = f"{civil.year:04d}-{civil.month:02d}-{civil.day:02d}T{civil.hour:02d}:{civil.minute:02d}:{civil.second:02d}"
    if timestamp.nanosecond:
        text += f".{timestamp.nanosecond:09d}".rstrip("0")
    if not timestamp.offset:
        return text + "Z"
    hours, minutes = divmod(abs(timestamp.offset) // 60, 60)
    return f"{text}{'-' if timestamp.offset < 0 else '+'}{hours:02d}:{minutes:02d}"


def go_text(timestamp: Timestamp) -> str:
    """As Go prints a time: with blanks, and with the offset once more in place of the zone's name, which is not known."""
    day, _, rest = timestamp_text(timestamp).partition("T")
    if rest.endswith("Z"):
        return f"{day} {rest[:-1]} +0000 UTC"
    offset = rest[-6:].replace(":", "")
    return f"{day} {rest[:-6]} {offset} {offset}"


def civil_time(timestamp: Timestamp, zone: str = "UTC") -> CivilTime:
    """The calendar fields in a zone: an IANA name or an offset such as `-08:00`.

    :raises CelError: if there is no such zone
    """
    effort.spend(len(zone))
    hours, colon, minutes = zone.partition(":")
    if not colon:
        return CivilTime(timestamp.seconds + _zone_offset(zone, timestamp))
    offset = _atoi(hours) * 60
    minute = _atoi(minutes)
    offset = offset - minute if zone[0] == "-" else offset + minute
    # Go adds it as a duration, whose nanoseconds overflow
    nanoseconds = _wrapped(offset * 60 * 1_000_000_000)
    return CivilTime(
        (timestamp.seconds * 1_000_000_000 + timestamp.nanosecond + nanoseconds) // 1_000_000_000
    )


def _wrapped(number: int) -> int:
    """The number in 64 bits, as Go's overflows leave it."""
    return (number + INT_MAX + 1) % (1 << 64) - INT_MAX - 1


def _atoi(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") and text else text
    if not _is_number(digits):
        raise CelError(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    number = int(digits) if len(digits) < 20 else INT_MAX + 1
    if number > INT_MAX:
        raise CelError(f"strconv.Atoi: parsing {quote(text)}: value out of range")
    return -number if text[0] == "-" else number


def _zone_offset(name: str, timestamp: Timestamp) -> int:
    if name in ("", "UTC", "Local"):
        return 0
    from datetime import UTC, datetime

    from deviceselectors.runtime.zones import zone

    found = zone(name)
    # datetime knows the years 1 to 9999; at its ends the offset is that of a day further in
    seconds = min(max(timestamp.seconds, _EARLIEST + _DAY), _LATEST - _DAY)
    moment = datetime.fromtimestamp(seconds, UTC).astimezone(found)
    offset = moment.utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _getter(name: str, shift: int = 0) -> Any:
    def get(timestamp: Timestamp, zone: str = "UTC") -> int:
        return getattr(civil_time(timestamp, zone), name) + shift  # type: ignore[no-any-return]

    return get


full_year = _getter("year")
month = _getter("month", -1)
day_of_year = _getter("day_of_year")
day_of_month = _getter("day", -1)
date = _getter("day")
day_of_week = _getter("day_of_week")
hours = _getter("hour")
minutes = _getter("minute")
seconds = _getter("second")


def milliseconds(timestamp: Timestamp, zone: str = "UTC") -> int:
    """The whole milliseconds of the second, in any zone that there is."""
    civil_time(timestamp, zone)
    return timestamp.nanosecond // 1_000_000
