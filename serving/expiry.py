"""When the certificate that is served with ends, and telling of it before clients do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509

from resourceapi.logs import log

SOON = timedelta(days=14)
# Whatever renews certificates has done so before only this part of their life is left.
LEAST_PART_LEFT = 1 / 5
REMINDER = timedelta(days=1)

HAS_EXPIRED, EXPIRES_SOON = "certificate has expired", "certificate expires soon"


class Validity(NamedTuple):
    """From when until when a certificate is valid."""

    starts: datetime
    ends: datetime

    def doubt(self, now: datetime) -> str:
        """What clients will object to, now or soon; empty if there is nothing."""
        left = self.ends - now
        if left <= timedelta():
            return HAS_EXPIRED
        return EXPIRES_SOON if left < min(SOON, (self.ends - self.starts) * LEAST_PART_LEFT) else ""


def validity_of(pem: bytes) -> Validity | None:
    """That of the first certificate in PEM, which is the server's own; None if it cannot be read."""
    try:
        first = x509.load_pem_x509_certificates(pem)[0]
        return Validity(first.not_valid_before_utc, first.not_valid_after_utc)
    except ValueError:
        return None


def shown(moment: datetime) -> str:
    """A time as log lines and messages have it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class ExpiryLog:
    """Shows until when the certificate is valid, and logs doubts about it: when they arise, and every day."""

    def __init__(
        self, show: Callable[[float], None], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        """Begin.

        :param show: is told the end, in seconds since 1970.
        """
        self._show = show
        self._clock = clock
        self._told: tuple[Validity, str] | None = None
        self._at = clock()

    def look(self, validity: Validity | None, file: str) -> None:
        """Look at the certificate that is served with now.

        :param file: where it is from.
        """
        if validity is None:
            return
        now = self._clock()
        found = validity, validity.doubt(now)
        if found == self._told and now - self._at < REMINDER:
            return
        self._told, self._at = found, now
        self._show(validity.ends.timestamp())
        if found[1]:
            log(logging.WARNING, found[1], file=file, expires=shown(validity.ends))
