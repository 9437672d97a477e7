"""What goes wrong around the service: full disks, directories that cannot be written, clocks, descriptors that run out."""

from __future__ import annotations

import asyncio
import errno
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from serving import tls as tls_module
from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import LEAF, LEAF_KEY, Terms
from serving.metrics import ServerMetrics
from serving.tls import CertificateError, ServerTLS
from tests.webhook.running import running

DAY = timedelta(days=1)
NOW = datetime.now(UTC)
TERMS = Terms(("localhost", "127.0.0.1"), 90 * DAY, 30 * DAY, 2 * DAY)


def failing(number: int) -> Any:
    def fail(*_: object, **__: object) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
@pytest.mark.parametrize("step", ["mkdtemp", "open", "symlink"])
def test_certificates_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, step: str
) -> None:
    """A disk that is full, or read-only, leaves the old set as it was, whole, at whatever step that shows; once there is
    space again the renewal is done, and what was left unfinished goes."""
    store = DirectoryStore(tmp_path)
    first = maintain(store, TERMS, NOW)
    name = {
        "mkdtemp": "serving.certificate_store.mkdtemp",
        "open": "serving.certificate_store.os.open",
        "symlink": "pathlib.Path.symlink_to",
    }
    with monkeypatch.context() as patched:
        patched.setattr(name[step], failing(number))
        for _ in range(3):
            with pytest.raises(OSError, match=os.strerror(number)):
                maintain(store, TERMS, NOW + 25 * DAY)
        assert store.load()[0] == first
    renewed = maintain(store, TERMS, NOW + 25 * DAY)
    assert renewed[LEAF] != first[LEAF]
    assert store.load()[0] == renewed
    assert len(list(tmp_path.glob("certificates-*"))) == 2


def test_certificate_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without space or descriptors for a new certificate the old one stays in use, and it is tried again."""
    store = DirectoryStore(tmp_path)
    maintain(store, TERMS, NOW)
    used = ServerTLS(tmp_path / "current" / LEAF, tmp_path / "current" / LEAF_KEY)
    before = used.context
    maintain(store, TERMS, NOW + 25 * DAY)
    with monkeypatch.context() as patched:
        patched.setattr(tls_module, "NamedTemporaryFile", failing(errno.ENOSPC))
        with pytest.raises(CertificateError, match="No space left on device"):
            used.refresh()
        assert used.context is before
    assert used.refresh()


def test_start_without_a_place_for_certificates(tmp_path: Path) -> None:
    """A directory that cannot be made ends the start with a line that says why, and no traceback."""
    from serving.config_file import ConfigError
    from webhook.application import serve
    from webhook.config import load_config

    (tmp_path / "file").write_text("")
    (tmp_path / "webhook.yaml").write_text("listen: {port: 0}\ntls: {directory: file/certificates}\n")
    with pytest.raises(ConfigError, match="Not a directory"):
        serve(load_config(str(tmp_path / "webhook.yaml")))


@pytest.mark.parametrize(
    "jump", [-400 * DAY, -DAY, -timedelta(minutes=6), DAY, 29 * DAY, 89 * DAY, 400 * DAY]
)
def test_clock_that_jumps(tmp_path: Path, jump: timedelta) -> None:
    """However far the clock jumps, and back again, the leaf is valid at once, and it settles in one round."""
    store = DirectoryStore(tmp_path)
    maintain(store, TERMS, NOW)
    for now in (NOW + jump, NOW, NOW + jump):
        entries = maintain(store, TERMS, now)
        leaf = _leaf(entries)
        assert leaf.not_valid_before_utc <= now < leaf.not_valid_after_utc
        assert maintain(store, TERMS, now) == entries


def _leaf(entries: dict[str, bytes]) -> Any:
    from cryptography import x509

    return x509.load_pem_x509_certificate(entries[LEAF])


def test_shortage_of_descriptors_is_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """When nothing can be opened while changes are looked for, that is a line without a traceback, and goes on."""
    from serving.worker import Changes

    class Application:
        metrics = ServerMetrics("test", "route")

        def watched_files(self) -> list[Path]:
            return []

    class Unreadable:
        def refresh(self) -> bool:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    changes = Changes(Application(), Unreadable(), None)  # type: ignore[arg-type]
    for _ in range(3):
        asyncio.run(changes.apply())
    records = [record for record in caplog.records if record.getMessage() == "cannot look for changes"]
    assert len(records) == 3
    assert not any(record.exc_info for record in records)


def test_read_only_directory_serves_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates that are there and valid need nothing to be written."""
    directory = tmp_path / "certificates"
    maintain(DirectoryStore(directory), Terms(("localhost", "127.0.0.1"), 365 * DAY, 90 * DAY, DAY), NOW)
    before = sorted(directory.rglob("*"))
    with running(tmp_path) as service:
        assert service.ask("GET", "/readyz")[0] == 200
    assert sorted(directory.rglob("*")) == before
