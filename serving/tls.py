"""The TLS side of the service: one context, whose certificate is replaced while it serves."""

from __future__ import annotations

import ssl
from pathlib import Path
from tempfile import NamedTemporaryFile

from cluster.tls import allow_incomplete_certificates


class CertificateError(Exception):
    """Files that hold no certificate with its key."""


class ServerTLS:
    """A server's TLS (1.2 or newer) with the certificate in two files; ``context`` is for new connections.

    :meth:`refresh` takes what has changed in them; connections that are open stay so.
    """

    def __init__(self, certificate: Path, key: Path, client_authority: Path | None = None) -> None:
        """
        :param client_authority: verify the certificates of clients that show one; PEM.
        :raises CertificateError: if the files cannot be read or do not belong together.
        """
        self._files = (certificate, key)
        self._client_authority = client_authority
        self._loaded = self._read()
        self.context = _context(*self._loaded)

    def refresh(self) -> bool:
        """Use what is in the files now; whether that is something new.

        :raises CertificateError: as at the start; then all stays as it was.
        """
        found = self._read()
        if found == self._loaded:
            return False
        self.context = _context(*found)
        self._loaded = found
        return True

    def _read(self) -> tuple[bytes, bytes | None]:
        """Certificate and key as one text, and the authorities of clients."""
        certificate, key = self._files
        try:
            # what a link led to at one time belongs together
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
    _load(context, pair)
    if client_authority is not None:
        _verify_clients(context, client_authority)
    return context


def _verify_clients(context: ssl.SSLContext, authority: bytes) -> None:
    """Probes come without a certificate, so none is required here."""
    try:
        context.load_verify_locations(cadata=authority.decode("ascii", "replace"))
    except (ssl.SSLError, ValueError) as error:
        raise CertificateError(f"no authorities of clients: {error}") from None
    context.verify_mode = ssl.CERT_OPTIONAL


def _load(context: ssl.SSLContext, pem: bytes) -> None:
    """Give a context a certificate from memory; OpenSSL's interface wants a file."""
    try:
        with NamedTemporaryFile(prefix="claimcheck-") as file:
            file.write(pem)
            file.flush()
            context.load_cert_chain(file.name)
    except ssl.SSLError as error:
        raise CertificateError(f"no certificate with its key: {error.reason or error}") from None
    except OSError as error:  # no space, no descriptors
        raise CertificateError(f"cannot be loaded: {error.strerror or error}") from None
