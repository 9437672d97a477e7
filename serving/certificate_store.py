"""Stores of certificates, shared by all processes that serve with them."""

from __future__ import annotations

import binascii
import fcntl
import os
import shutil
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, expect
from resourceapi.errors import WriteConflict
from resourceapi.manifests import mapping, text
from serving.api_server import make_client, own_namespace
from serving.certificates import BUNDLE, LEAF, LEAF_KEY, NAMES, Entries, IsTrusted, Terms, advance, is_usable
from serving.config_file import Config
from serving.tls import HAS_EXPIRED, CertificateError, ServerTLS, shown

CURRENT = "current"
_ATTEMPTS = 10


class Store(Protocol):
    """Entries with a revision; only a writer that has seen the latest one may replace them."""

    def load(self) -> tuple[Entries | None, str]:
        """The entries, None if there are none yet, and their revision."""

    def save(self, entries: Entries, revision: str) -> None:
        """Replace the entries of a revision.

        :raises WriteConflict: if the store has another revision by now.
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
    :raises WriteConflict: if others write at the same time again and again.
    """
    for _ in range(_ATTEMPTS):
        stored, revision = store.load()
        latest = spare if not is_usable(stored) and is_usable(spare) else stored
        entries = advance(latest, terms, now, is_trusted)
        if entries is stored:
            return entries
        try:
            store.save(entries, revision)
        except WriteConflict:
            continue
        return entries
    raise WriteConflict(f"the certificates changed {_ATTEMPTS} times in a row")


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

        :raises WriteConflict: as :func:`maintain`.
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

        :raises WriteConflict: if the directory has another revision by now.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._locked():
            if self._revision() != revision:
                raise WriteConflict("the directory has other certificates by now")
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
    """A Store (:class:`Store`) in a Secret of type ``kubernetes.io/tls``, or of any type that it has.

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

        :raises WriteConflict: if the Secret has changed since, or was created or deleted.
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
            raise WriteConflict(f"{self._path} has other certificates by now")
        self._found = expect(answer, f"writing {self._path}", OK, CREATED)


def _decoded(value: Any) -> bytes:
    """The content of an entry; empty if it is not Base64."""
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        return b""


# The certificates that a service's configuration describes: where they are kept, who renews them, and
# which one is served.

# Seconds for an answer about the Secret: the API server must not keep the supervisor from looking after the workers.
SECRET_SECONDS = 3.0


def certificate_terms(config: Config, service: str, client_name: str = "") -> Terms | None:
    """The names and lifetimes of own certificates; None if certificates are given.

    :param service: which one they are for, as their subjects say it.
    :param client_name: of a client that gets a certificate, too.
    :raises ConfigError: if an authority would end before its successor is trusted.
    """
    if not certificates_are_own(config):
        return None
    terms = Terms(
        tuple(config.get("tls", "names")),
        timedelta(days=config.get("tls", "authorityDays")),
        timedelta(days=config.get("tls", "leafDays")),
        timedelta(hours=config.get("tls", "trustLeadHours")),
        client_name,
        service,
    )
    if terms.trust_lead * 3 >= terms.authority_life:
        raise config.error(
            ("tls", "trustLeadHours"), "tls.trustLeadHours: must be less than a third of tls.authorityDays"
        )
    return terms


def make_keeper(
    config: Config,
    runtime: Path,
    service: str,
    is_trusted: IsTrusted | None = None,
    client_name: str = "",
) -> Keeper | None:
    """What makes and renews own certificates; None if certificates are given.

    :param service: as for :func:`certificate_terms`.
    :param runtime: a directory of this service alone, for as long as it runs.
    :param is_trusted: as for :func:`serving.certificates.advance`; None if it is not known what clients trust.
    :param client_name: as for :func:`certificate_terms`.
    :raises ConfigError: as :func:`certificate_terms`, or if the API server's authorities cannot be read.
    """
    terms = certificate_terms(config, service, client_name)
    if terms is None:
        return None
    is_trusted = is_trusted or _anything
    directory = DirectoryStore(own_directory(config, runtime))
    if config.get("tls", "secret") is None:
        return Keeper(directory, terms, is_trusted=is_trusted)
    api = make_client(config, SECRET_SECONDS)
    namespace = own_namespace(config, "tls", "secret", "namespace")
    store = SecretStore(api, namespace, config.get("tls", "secret", "name"))
    return Keeper(store, terms, directory, is_trusted, api.close)


def _anything(pem: bytes) -> bool:
    """The trust lead has to be enough."""
    return True


def make_tls(config: Config, runtime: Path, *, knows_own_clients: bool = False) -> ServerTLS:
    """The certificate to serve with.

    :param runtime: as for :func:`make_keeper`.
    :param knows_own_clients: whether clients with a certificate of the own authority are known.
    :raises ConfigError: if there is no usable one.
    """
    require_given_files(config)
    given = config.get("tls", "clientAuthorityFile")
    authority = given and config.path(given)
    if certificates_are_own(config):
        current = own_directory(config, runtime) / CURRENT
        files = current / LEAF, current / LEAF_KEY
        authority = current / BUNDLE if knows_own_clients else authority
    else:
        files = (
            config.path(config.get("tls", "certificateFile")),
            config.path(config.get("tls", "keyFile")),
        )
    try:
        return ServerTLS(*files, authority)
    except CertificateError as error:
        raise config.error(("tls",), f"tls: {error}") from None


def check_notes(config: Config) -> list[str]:
    """What to tell of a configuration that is only checked, and can be used.

    :raises ConfigError: if the given certificate has expired, with which a service starts, and waits for another one.
    """
    notes = []
    for name in sorted(config.left_unread):
        notes.append(f"not checked: {config.path(config.get(*name))}, the default of {'.'.join(name)}")
    validity = None if certificates_are_own(config) else make_tls(config, Path()).validity
    doubt = "" if validity is None else validity.doubt(datetime.now(UTC))
    if validity is not None and doubt:
        message = f"tls.certificateFile: {doubt}: {shown(validity.ends)}"
        problem = config.error(("tls", "certificateFile"), message)
        if doubt == HAS_EXPIRED:
            raise problem
        notes.append(str(problem))
    return notes


def require_given_files(config: Config) -> None:
    """Insist that the files with certificates and keys which the configuration names can be read.

    :raises ConfigError: for the first that cannot.
    """
    for name in ("certificateFile", "keyFile", "clientAuthorityFile"):
        file = config.get("tls", name)
        if file is not None:
            try:
                config.path(file).read_bytes()
            except OSError as error:
                raise config.file_error(("tls", name), error) from None


def certificates_are_own(config: Config) -> bool:
    """Whether the service makes and renews its certificates; otherwise files with them are given."""
    return config.get("tls", "certificateFile") is None


def own_directory(config: Config, runtime: Path) -> Path:
    """The directory with the own certificates that workers read."""
    directory = config.get("tls", "directory")
    return runtime / "certificates" if directory is None else config.path(directory)
