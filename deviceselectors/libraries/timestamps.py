"""CEL's functions for the parts of timestamps and durations: `getFullYear()`, `getHours("Europe/Berlin")`."""

from __future__ import annotations

from deviceselectors.libraries.function import Function, Overload, Run
from deviceselectors.runtime import times


def _part(name: str, overload: str, run: Run, *, of_duration: Run | None = None) -> Function:
    """The row of a part of a timestamp in UTC, or in a zone that is given, perhaps also of a duration."""
    in_zone = f"{overload}_tz" if overload == "timestamp_to_seconds" else f"{overload}_with_tz"
    overloads = [
        Overload(f".{overload} timestamp > int", run),
        Overload(f".{in_zone} timestamp; string > int", run),
    ]
    if of_duration is not None:
        signature = f".duration{overload.removeprefix('timestamp')} duration > int"
        overloads.append(Overload(signature, of_duration))
    return Function(name, *overloads)


FUNCTIONS = (
    _part("getFullYear", "timestamp_to_year", times.full_year),
    _part("getMonth", "timestamp_to_month", times.month),
    _part("getDate", "timestamp_to_day_of_month_1_based", times.date),
    _part("getDayOfMonth", "timestamp_to_day_of_month", times.day_of_month),
    _part("getDayOfWeek", "timestamp_to_day_of_week", times.day_of_week),
    _part("getDayOfYear", "timestamp_to_day_of_year", times.day_of_year),
    _part("getHours", "timestamp_to_hours", times.hours, of_duration=times.duration_hours),
    _part("getMinutes", "timestamp_to_minutes", times.minutes, of_duration=times.duration_minutes),
    _part("getSeconds", "timestamp_to_seconds", times.seconds, of_duration=times.duration_whole_seconds),
    _part(
        "getMilliseconds",
        "timestamp_to_milliseconds",
        times.milliseconds,
        of_duration=times.duration_milliseconds,
    ),
)
