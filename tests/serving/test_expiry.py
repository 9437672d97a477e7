"""Certificates that end are told of: in the log, and by a gauge."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from serving.certificates import LEAF, LEAF_KEY, Terms, advance
from serving.tls import EXPIRES_SOON, HAS_EXPIRED, ExpiryLog, Validity, validity_of

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("life", "after", "doubt"),
    [
        (365 * DAY, 350 * DAY, ""),
        (365 * DAY, 351 * DAY, ""),
        (365 * DAY, 351 * DAY + HOUR, EXPIRES_SOON),
        (365 * DAY, 365 * DAY - HOUR, EXPIRES_SOON),
        (365 * DAY, 365 * DAY, HAS_EXPIRED),
        (365 * DAY, 400 * DAY, HAS_EXPIRED),
        (10 * DAY, 7 * DAY, ""),
        (10 * DAY, 8 * DAY + HOUR, EXPIRES_SOON),
    ],
)
def test_doubt(life: timedelta, after: timedelta, doubt: str) -> None:
    """Two weeks before, or a fifth of a short life, when it should have been renewed."""
    assert Validity(START, START + life).doubt(START + after) == doubt


def test_first_certificate_counts() -> None:
    """The server's own; not its authority's, nor its key. What cannot be read has no end."""
    made = advance(None, Terms(("localhost",), 90 * DAY, 30 * DAY, 2 * DAY), START)
    validity = validity_of(made[LEAF] + made["ca.crt"] + made[LEAF_KEY])
    assert validity == (START - timedelta(minutes=5), START + 30 * DAY)
    assert validity_of(b"") is None
    assert validity_of(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") is None


def test_log(caplog: pytest.LogCaptureFixture) -> None:
    """At once, again when it gets worse, then daily; a new certificate ends that."""
    caplog.set_level("INFO", "claimcheck")
    ends: list[float] = []
    now = [START + 80 * DAY]
    expiry = ExpiryLog(ends.append, lambda: now[0])
    old, new = (Validity(START + begins, START + begins + 90 * DAY) for begins in (0 * DAY, 91 * DAY))

    def look(validity: Validity, after: timedelta) -> None:
        now[0] += after
        expiry.look(validity, "tls.crt")

    look(old, 0 * DAY)
    look(old, DAY - HOUR)
    assert caplog.messages == [EXPIRES_SOON]
    look(old, HOUR)
    assert caplog.messages == [EXPIRES_SOON] * 2
    look(old, 9 * DAY)
    look(old, HOUR)
    look(new, DAY)
    look(new, DAY)
    assert caplog.messages == [EXPIRES_SOON, EXPIRES_SOON, HAS_EXPIRED]
    assert cast(Any, caplog.records[0]).fields == {"file": "tls.crt", "expires": "2026-04-01T00:00:00Z"}
    assert set(ends) == {old.ends.timestamp(), new.ends.timestamp()}
    assert ends[-1] == new.ends.timestamp()


def test_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    """Where the end is not known."""
    ends: list[float] = []
    ExpiryLog(ends.append).look(None, "tls.crt")
    assert (ends, caplog.messages) == ([], [])
