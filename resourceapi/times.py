"""Points in time (metav1.Time): reading RFC 3339 as leniently as the server, writing it in UTC with whole seconds."""

from __future__ import annotations

from time import gmtime, strftime, time_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# The time that counts as not set.
ZERO = "0001-01-01T00:00:00Z"

# Elements of the layout with the separator before each, the range of its values, and its name in errors.
# One digit is enough for the hour; the range of days depends on the month.
_ELEMENTS = (
    ("", "2006", 0, 9999, "year"),
    ("-", "01", 1, 12, "month"),
    ("-", "02", 0, 99, "day"),
    ("T", "15", 0, 23, "hour"),
    (":", "04", 0, 59, "minute"),
    (":", "05", 0, 59, "second"),
)


class TimeError(ValueError):
    """A text is no time; the message is the server's."""


def in_seconds(time: str) -> str:
    """A time from :func:`parse` as the server writes it: ``2026-01-02T03:04:05Z``."""
    return time if "." not in time else time.partition(".")[0] + "Z"


def in_words(time: str) -> str:
    """A time from :func:`parse` as Go prints it: ``2026-01-02 03:04:05.5 +0000 UTC``."""
    return f"{time[:-1].replace('T', ' ')} +0000 UTC"


def age(time: str) -> str:
    """What sorts times from :func:`parse`, the earlier first: their texts have fractions of a second before none."""
    return time.removesuffix("Z")


def moment(time: str) -> datetime:
    """A time from :func:`parse` to count with: one in a year that Python does not know is the first or the last that it does."""
    from datetime import UTC, datetime

    if time.startswith(("-", "0000-")):
        return datetime.min.replace(tzinfo=UTC)
    if time[4:5] != "-":
        return datetime.max.replace(tzinfo=UTC)
    return datetime.fromisoformat(time)


def parse(text: str) -> str:
    """The time in UTC, with the fraction of a second that it has: ``2026-01-02T03:04:05.5Z``.

    The server never shows fractions, but times that differ in them are different to it.

    :raises TimeError: with the server's message.
    """
    numbers: list[int] = []
    rest = text
    for separator, element, least, greatest, name in _ELEMENTS:
        if not rest.startswith(separator):
            raise _cannot_parse(text, separator, rest)
        held = rest[len(separator) :]
        digits = _leading_digits(held, element)
        if not digits:
            raise _cannot_parse(text, element, held)
        if not least <= int(digits) <= greatest:
            raise TimeError(f"parsing time {_quote(text)}: {name} out of range")
        numbers.append(int(digits))
        rest = held[len(digits) :]
    fraction, rest = _fraction(rest)
    offset, rest = _offset_minutes(text, rest)
    if rest:
        raise TimeError(f"parsing time {_quote(text)}: extra text: {_quote(rest)}")
    year, month, day, hour, minute, second = numbers
    if not 1 <= day <= days_in_month(year, month):
        raise TimeError(f"parsing time {_quote(text)}: day out of range")
    days, minutes = divmod(hour * 60 + minute - offset, 24 * 60)
    year, month, day = _add_days(year, month, day, days)
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}T{minutes // 60:02}:{minutes % 60:02}:{second:02}{fraction}Z"


def _leading_digits(text: str, element: str) -> str:
    """The digits that an element of the layout takes from the text; none if there are too few."""
    width = len(element)
    digits = text[:width]
    if digits.isdecimal() and digits.isascii() and len(digits) == width:
        return digits
    if element == "15" and text[:1].isdecimal() and text[0].isascii():
        return text[0]
    return ""


def _fraction(text: str) -> tuple[str, str]:
    """The fraction of a second down to nanoseconds (empty if there is none), and what follows it."""
    if text[:1] in (".", ",") and text[1:2].isdecimal() and text[1].isascii():
        rest = text[1:].lstrip("0123456789")
        digits = text[1 : len(text) - len(rest)][:9].rstrip("0")
        return (f".{digits}" if digits else ""), rest
    return "", text


def _offset_minutes(text: str, zone: str) -> tuple[int, str]:
    """The offset from UTC in minutes, and what follows it in the text."""
    if zone.startswith("Z"):
        return 0, zone[1:]
    # The server takes bytes, which matters only for the choice between two errors.
    offset = zone.encode("utf-8", "surrogatepass")[:6].decode("latin-1")
    if len(offset) < 6 or offset[3] != ":":
        raise _cannot_parse(text, "Z07:00", zone)
    hours, minutes = offset[1:3], offset[4:]
    # Ranges are checked first, and generously, but minutes only if there are hours.
    if hours.isdecimal():
        if int(hours) > 24:
            raise TimeError(f"parsing time {_quote(text)}: time zone offset hour out of range")
        if minutes.isdecimal() and int(minutes) > 60:
            raise TimeError(f"parsing time {_quote(text)}: time zone offset minute out of range")
    if not hours.isdecimal() or not minutes.isdecimal() or offset[0] not in "+-":
        raise _cannot_parse(text, "Z07:00", zone)
    total = int(hours) * 60 + int(minutes)
    return (total if offset[0] == "+" else -total), zone[6:]


def is_leap(year: int) -> bool:
    """Whether a year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    """How many days a month (1 to 12) has."""
    return 29 if month == 2 and is_leap(year) else _DAYS[month - 1]


def _add_days(year: int, month: int, day: int, days: int) -> tuple[int, int, int]:
    """The date so many days later; days is -2 to 2."""
    day += days
    if day < 1:
        month -= 1
        if month < 1:
            year, month = year - 1, 12
        return year, month, day + days_in_month(year, month)
    length = days_in_month(year, month)
    if day <= length:
        return year, month, day
    return (year + 1, 1, day - length) if month == 12 else (year, month + 1, day - length)


def _cannot_parse(text: str, element: str, rest: str) -> TimeError:
    return TimeError(
        f"parsing time {_quote(text)} as {_quote(_LAYOUT)}: cannot parse {_quote(rest)} as {_quote(element)}"
    )


def _quote(text: str) -> str:
    """In double quotes, with the bytes of control characters and of all beyond ASCII in hexadecimal."""
    parts = []
    for character in text:
        if " " <= character < "\x80":
            parts.append("\\" + character if character in '"\\' else character)
        else:
            parts.extend(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    return f'"{"".join(parts)}"'


_last: tuple[int, str] = (0, "")


def now() -> str:
    """The current time as a ``Time``: whole seconds; the text is made once for each of them."""
    global _last
    second = time_ns() // 10**9
    if _last[0] != second:
        _last = (second, strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(second)))
    return _last[1]


def micro_now() -> str:
    """The current time as a ``MicroTime``."""
    seconds, nanoseconds = divmod(time_ns(), 10**9)
    return f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(seconds))}.{nanoseconds // 1000:06}Z"
