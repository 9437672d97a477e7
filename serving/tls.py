"""TLS of a server, whose certificate is replaced while it serves."""

from __future__ import annotations

import ssl
from pathlib import Path
from tempfile import NamedTemporaryFile

from cluster.access import allow_incomplete_certificates
from resourceapi.errors import ClaimcheckError
from serving.expiry import validity_of


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
