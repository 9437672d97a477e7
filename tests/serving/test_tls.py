"""The certificate and the authorities of clients that a server uses: those in the files, as long as they are any."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cluster.access import client_context
from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import Terms
from serving.tls import CertificateError, ServerTLS
from tests.webhook.client_certificates import write_client_certificates

TERMS = Terms(("localhost",), timedelta(9), timedelta(9), timedelta(1))


@pytest.fixture
def tls(tmp_path: Path) -> ServerTLS:
    write_pair(tmp_path)
    write_client_certificates(tmp_path, [])
    return ServerTLS(tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path / "authority.crt")


def write_pair(directory: Path) -> None:
    """A new certificate of a new authority."""
    store = DirectoryStore(directory / f"made-{len(list(directory.iterdir()))}")
    entries = maintain(store, TERMS, datetime.now(UTC))
    for name in ("tls.crt", "tls.key"):
        (directory / name).write_bytes(entries[name])


def clients(tls: ServerTLS) -> list[bytes]:
    """The authorities of clients that new connections trust."""
    return tls.context.get_ca_certs(binary_form=True)


def test_settings(tls: ServerTLS) -> None:
    """TLS is 1.2 or newer; clients may show a certificate, and need not; no session is resumed."""
    assert tls.context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert tls.context.verify_mode == ssl.CERT_OPTIONAL
    assert tls.context.num_tickets == 0


def test_old_certificates_are_taken(tls: ServerTLS, tmp_path: Path) -> None:
    """Those of clusters need not be as strict as Python is by default from 3.13 on."""
    for context in (tls.context, client_context(tmp_path / "authority.crt")):
        assert not context.verify_flags & ssl.VERIFY_X509_STRICT


def test_nothing_new(tls: ServerTLS) -> None:
    """As long as the files stay the same, so does everything."""
    before = tls.context
    assert not tls.refresh()
    assert tls.context is before


def test_new_certificate(tls: ServerTLS, tmp_path: Path) -> None:
    """A new pair is taken, for new connections: the old context is not touched."""
    before = tls.context
    write_pair(tmp_path)
    assert tls.refresh()
    assert tls.context is not before


def test_new_authority_of_clients(tls: ServerTLS, tmp_path: Path) -> None:
    """A new authority of clients replaces the old one."""
    before = clients(tls)
    write_client_certificates(tmp_path, [])
    assert tls.refresh()
    assert len(clients(tls)) == 1
    assert clients(tls) != before


@pytest.mark.parametrize("file", ["tls.crt", "tls.key", "authority.crt"])
@pytest.mark.parametrize("content", [b"", b"garbage", None], ids=["empty", "garbage", "gone"])
def test_damage_changes_nothing(tls: ServerTLS, tmp_path: Path, file: str, content: bytes | None) -> None:
    """Files that are damaged, or gone, are an error each time, and what serves goes on."""
    before = tls.context
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_bytes(content)
    for _ in range(2):
        with pytest.raises(CertificateError):
            tls.refresh()
    assert tls.context is before


def test_key_of_another(tls: ServerTLS, tmp_path: Path) -> None:
    """A certificate and a key that do not belong together are not taken."""
    before, key = tls.context, (tmp_path / "tls.key").read_bytes()
    write_pair(tmp_path)
    (tmp_path / "tls.key").write_bytes(key)
    with pytest.raises(CertificateError):
        tls.refresh()
    assert tls.context is before
