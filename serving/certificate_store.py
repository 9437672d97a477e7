"""Stores of certificates, shared by all processes that serve with them."""

from __future__ import annotations

import binascii
import fcntl
import os
import shutil
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, expect
from resourceapi.errors import Conflict
from resourceapi.manifests import mapping, text
from serving.certificates import NAMES, Entries, IsTrusted, Terms, advance, is_usable

CURRENT = "current"
_ATTEMPTS = 10


class Store(Protocol):
    """Entries with a revision; only a writer that has seen the latest one may replace them."""

    def load(self) -> tuple[Entries | None, str]:
        """The entries, None if there are none yet, and their revision."""

    def save(self, entries: Entries, revision: str) -> None:
        """Replace the entries of a revision.

        :raises Conflict: if the store has another revision by now.
        """


def maintain(
    store: Store,
    terms: Terms,
    now: datetime,
    spare: Entries | None = None,
    is_trusted: IsTrusted = lambda pem: True,
) -> Entries:
    """Make, renew and rotate what is due; return the entries that are valid now.

    Of several processes that find something due, the first one writes and the others take over what it has made.

    :param spare: entries to restore if those in the store are missing or damaged, so that clients need not learn of
        another authority.
    :param is_trusted: as for :func:`serving.certificates.advance`.
    :raises Conflict: if others write at the same time again and again.
    """
    for _ in range(_ATTEMPTS):
        stored, revision = store.load()
        latest = spare if not is_usable(stored) and is_usable(spare) else stored
        entries = advance(latest, terms, now, is_trusted)
        if entries is stored:
            return entries
        try:
            store.save(entries, revision)
        except Conflict:
            continue
        return entries
    raise Conflict(f"the certificates changed {_ATTEMPTS} times in a row")


class Keeper:
    """Keeps the certificates in a store valid.

    :param copy: a directory that gets a copy for the processes that serve; None if the store is one.
    :param is_trusted: as for :func:`maintain`.
    :param after: called after each round, to let go of what was held for it.
    """

    def __init__(
        self,
        store: Store,
        terms: Terms,
        copy: DirectoryStore | None = None,
        is_trusted: IsTrusted = lambda pem: True,
        after: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._terms = terms
        self._copy = copy
        self._is_trusted = is_trusted
        self._after = after

    def maintain(self, now: datetime) -> None:
        """Do what is due; a copy may lag behind until the next round.

        :raises Conflict: as :func:`maintain`.
        """
        try:
            if self._copy is None:
                maintain(self._store, self._terms, now, None, self._is_trusted)
                return
            held, revision = self._copy.load()
            entries = maintain(self._store, self._terms, now, held, self._is_trusted)
            if entries != held:
                self._copy.save(entries, revision)
        finally:
            self._after()


class DirectoryStore:
    """A Store in a directory.

    Its entries are in ``current``, a link to a directory that is written only once, so that nobody ever reads half a set.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def load(self) -> tuple[Entries | None, str]:
        """The entries, and the name of the directory that they are in as their revision."""
        try:
            revision = os.readlink(self.directory / CURRENT)
            files = list((self.directory / revision).iterdir())
            return {file.name: file.read_bytes() for file in files}, revision
        except FileNotFoundError:
            return None, ""

    def save(self, entries: Entries, revision: str) -> None:
        """Replace the entries; only the owner of the process may read the files.

        :raises Conflict: if the directory has another revision by now.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._locked():
            if self._revision() != revision:
                raise Conflict("the directory has other certificates by now")
            written = Path(mkdtemp(prefix="certificates-", dir=self.directory))
            for name, content in entries.items():
                with open(written / name, "wb", opener=_private) as file:
                    file.write(content)
            link = self.directory / f".{written.name}"
            link.symlink_to(written.name)
            link.replace(self.directory / CURRENT)
            for old in self.directory.glob("certificates-*"):
                # the previous set stays for processes that are reading it
                if old.name not in (written.name, revision):
                    shutil.rmtree(old, ignore_errors=True)

    def _revision(self) -> str:
        try:
            return os.readlink(self.directory / CURRENT)
        except FileNotFoundError:
            return ""

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with open(self.directory / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


# Certificates in a Secret that all replicas share; its resourceVersion detects concurrent writes.

LABELS = {"app.kubernetes.io/managed-by": "claimcheck", "app.kubernetes.io/component": "certificates"}


class SecretStore:
    """A Store (:class:`serving.certificate_store.Store`) in a Secret of type ``kubernetes.io/tls``, or of any type that it has.

    Other entries of the Secret are kept.  All methods raise :class:`resourceapi.api_client.Unavailable`.
    """

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        self._api = api
        self._collection = f"/api/v1/namespaces/{namespace}/secrets"
        self._path = f"{self._collection}/{name}"
        self._found: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": name, "namespace": namespace, "labels": LABELS},
        }

    def load(self) -> tuple[Entries | None, str]:
        """The entries and the Secret's resourceVersion; None and an empty string if there is no Secret."""
        answer = self._api.request("GET", self._path)
        if answer[0] == NOT_FOUND:
            return None, ""
        found = expect(answer, f"GET {self._path}", OK)
        self._found = found
        data = mapping(found, "data")
        entries = {name: _decoded(data[name]) for name in NAMES if name in data}
        return entries, text(mapping(found, "metadata"), "resourceVersion")

    def save(self, entries: Entries, revision: str) -> None:
        """Write the entries; create the Secret if ``revision`` is empty.

        :raises Conflict: if the Secret has changed since, or was created or deleted.
        """
        others = {name: value for name, value in mapping(self._found, "data").items() if name not in NAMES}
        ours = {name: b64encode(content).decode("ascii") for name, content in entries.items()}
        metadata = {
            name: value for name, value in self._found["metadata"].items() if name != "resourceVersion"
        }
        if revision:
            metadata["resourceVersion"] = revision
        body = {**self._found, "metadata": metadata, "data": {**others, **ours}}
        if revision:
            answer = self._api.request("PUT", self._path, body)
        else:
            answer = self._api.request("POST", self._collection, body)
        # deleted or created meanwhile: by another replica
        if answer[0] in (CONFLICT, NOT_FOUND):
            raise Conflict(f"{self._path} has other certificates by now")
        self._found = expect(answer, f"writing {self._path}", OK, CREATED)


def _decoded(value: Any) -> bytes:
    """The content of an entry; empty if it is not Base64."""
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        return b""
