"""TLS of a server, whose certificate is replaced while it serves."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from cryptography import x509

from cluster.access import allow_incomplete_certificates
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import log

# When the certificate that is served with ends, and telling of it before clients do.

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


class CertificateError(ClaimcheckError):
    """Files without a usable certificate and its key."""


class ServerTLS:
    """A server's TLS (1.2 or newer); ``context`` is for new connections, ``validity`` that of the certificate, if known.

    :param certificate: a file with the certificate and its intermediates; PEM.
    :param key: a file with its key; PEM.
    :param client_authority: a file with CA certificates (PEM), by which the certificates of clients that show one are
        verified; None to ask for none.
    :raises CertificateError: if the files cannot be read or do not belong together.
    """

    def __init__(self, certificate: Path, key: Path, client_authority: Path | None = None) -> None:
        self._files = (certificate, key)
        self._client_authority = client_authority
        self._loaded = self._read()
        self.context = _context(*self._loaded)
        self.validity = validity_of(self._loaded[0])

    @property
    def certificate_file(self) -> Path:
        """Where the certificate is from."""
        return self._files[0]

    def refresh(self) -> bool:
        """Read the files again; return whether they have changed.  Open connections are not affected.

        :raises CertificateError: if the files cannot be used; then nothing has changed.
        """
        found = self._read()
        if found == self._loaded:
            return False
        self.context = _context(*found)
        self._loaded = found
        self.validity = validity_of(found[0])
        return True

    def _read(self) -> tuple[bytes, bytes | None]:
        """Certificate and key as one PEM, and the CA certificates of clients."""
        certificate, key = self._files
        try:
            # resolved once, so that both files are of the same set even if the link changes meanwhile
            directory = certificate.parent.resolve()
            same = key.parent == certificate.parent
            key_file = directory / key.name if same else key
            pair = (directory / certificate.name).read_bytes() + b"\n" + key_file.read_bytes()
            return pair, self._client_authority.read_bytes() if self._client_authority else None
        except OSError as error:
            raise CertificateError(f"{error.filename}: {error.strerror}") from None


def _context(pair: bytes, client_authority: bytes | None) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    allow_incomplete_certificates(context)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.num_tickets = 0  # a third of the work of a handshake, and Kubernetes' clients resume no sessions
    _load(context, pair)
    if client_authority is not None:
        _verify_clients(context, client_authority)
    return context


def _verify_clients(context: ssl.SSLContext, authority: bytes) -> None:
    """Ask clients for a certificate; probes have none, so none is required here."""
    try:
        context.load_verify_locations(cadata=authority.decode("ascii", "replace"))
    except (ssl.SSLError, ValueError) as error:
        raise CertificateError(f"no CA certificates of clients: {error}") from None
    context.verify_mode = ssl.CERT_OPTIONAL


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """Give a context a certificate; OpenSSL reads it from a file only."""
    try:
        with NamedTemporaryFile(prefix="claimcheck-") as file:
            file.write(pem)
            file.flush()
            context.load_cert_chain(file.name)
    except ssl.SSLError as error:
        raise CertificateError(
            f"no certificate and key that belong together: {error.reason or error}"
        ) from None
    except OSError as error:  # no space, no descriptors
        raise CertificateError(f"cannot be loaded: {error.strerror or error}") from None
