"""Points in time, against Go's time.Parse."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi.times import ZERO, TimeError, moment, parse
from tests.resourceapi.tables import table


@pytest.mark.parametrize("case", table("times"))
def test_reads_times_as_the_server(case: dict[str, Any]) -> None:
    """A text is refused with Go's message, or read and written in UTC with whole seconds."""
    if "error" in case:
        with pytest.raises(TimeError) as raised:
            parse(case["text"])
        assert str(raised.value) == case["error"]
    else:
        assert parse(case["text"]) == case["time"]


@given(
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31)),
    st.integers(min_value=-23 * 60 - 59, max_value=23 * 60 + 59),
)
def test_converts_to_utc(local: datetime, offset: int) -> None:
    """Every offset gives the same moment in UTC."""
    moment = local.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=offset)))
    assert parse(moment.isoformat()) == moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-28T12:00:00.5+01:00", datetime(2026, 11, 28, 11, microsecond=500_000)),
        ("9999-12-31T23:59:59-14:00", datetime.max),
        ("0000-01-01T00:00:00Z", datetime.min),
        ("0001-01-01T00:00:00+14:00", datetime.min),
        ("0000-01-01T00:00:00+14:00", datetime.min),
    ],
)
def test_moments(text: str, expected: datetime) -> None:
    """Times that the server reads and Python cannot are the last or the first that it can."""
    assert moment(parse(text)) == expected.replace(tzinfo=UTC)


@given(st.text() | st.from_regex(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})"))
def test_any_text_is_a_time_or_an_error(text: str) -> None:
    """Nothing else comes out, and a written time is read as itself if its year has four digits."""
    try:
        written = parse(text)
    except TimeError as error:
        assert str(error).startswith('parsing time "')  # noqa: PT017
        return
    assert len(written) > len(ZERO) or written.startswith("-") or parse(written) == written


def test_the_zero_time() -> None:
    """The time that stands for none."""
    assert parse("0001-01-01T00:00:00Z") == ZERO
