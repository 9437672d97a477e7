"""All objects of one collection of a cluster, kept up to date by list and watch."""

from __future__ import annotations

import http.client
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from random import random
from threading import Event
from typing import Protocol
from urllib.parse import urlencode, urlsplit

from cluster.tls import client_context
from resourceapi.manifests import mapping, text
from resourceapi.objects import Object

_LOGGER = logging.getLogger("claimcheck")
PAGE = 500
WATCH_SECONDS = 60
# More than a watch lasts: what takes longer is a connection that nobody answers any more.
SOCKET_SECONDS = WATCH_SECONDS + 15.0
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
NOT_SERVED_SECONDS = 15.0
JSON = "application/json"
# what an API server gives of an object to those who need no more: no spec, no status
METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"


class WatchError(Exception):
    """The API server answers otherwise than expected, or the watch is too old to go on."""


class NotServed(Exception):
    """There is no such collection."""


class Receiver(Protocol):
    """Who gets to know the objects; called by one thread."""

    def replace(self, objects: Iterator[Object]) -> None:
        """Take these for all that there are; if getting them fails, all has to stay as it was."""
        ...

    def put(self, obj: Object) -> None:
        """Take over an object that is new or has changed."""
        ...

    def remove(self, obj: Object) -> None:
        """Forget an object."""
        ...

    def lose(self) -> None:
        """The API server has no such collection."""
        ...


class Connection:
    """How an API server is reached."""

    def __init__(self, server: str, *, token_file: Path, ca_file: Path) -> None:
        """
        :param server: ``https://host[:port]``.
        :param token_file: read for every request, since kubelet renews it.
        :raises OSError: if the authorities cannot be read.
        """
        self._address = urlsplit(server)
        self._token_file = token_file
        self._tls = client_context(ca_file)

    def open(self) -> http.client.HTTPSConnection:
        host, port = self._address.hostname or "", self._address.port
        return http.client.HTTPSConnection(host, port, timeout=SOCKET_SECONDS, context=self._tls)

    def token(self) -> str:
        """
        :raises OSError: if it cannot be read.
        """
        return self._token_file.read_text("utf-8").strip()


class Watch:
    """Tells a receiver of all objects, once it is ``synced``, and of changes within moments.

    While the API server cannot be reached, all stays as it was.  A collection that is not served is asked for now and
    then; it counts as known.
    """

    def __init__(
        self, connection: Connection, path: str, receiver: Receiver, *, metadata_only: bool = False
    ) -> None:
        """
        :param path: of the collection, from ``/api`` or ``/apis`` on.
        :param metadata_only: whether the receiver needs no more of an object than its metadata.
        """
        self.synced = Event()
        self._connection = connection
        self.path = path
        self._receiver = receiver
        self._list_type = METADATA.format("List") if metadata_only else JSON
        self._item_type = METADATA.format("") if metadata_only else JSON

    def run(self, ending: Event) -> None:
        """Follow the cluster until told to end; what goes wrong is logged and tried again, ever more rarely."""
        failures = 0
        while not ending.is_set():
            try:
                listing = _Listing(self._connection, self.path, self._list_type)
                self._receiver.replace(listing.objects())
                revision = listing.revision
                self.synced.set()
                while not ending.is_set():
                    revision = self._watch(revision)
                    failures = 0
            except NotServed:
                if not self.synced.is_set():
                    _log(logging.INFO, "not served", path=self.path)
                self._receiver.lose()
                self.synced.set()
                ending.wait(NOT_SERVED_SECONDS)
            except (OSError, http.client.HTTPException, ValueError, WatchError) as error:
                reason = str(error) or type(error).__name__
                _log(logging.WARNING, "cluster is not followed", path=self.path, reason=reason)
                ending.wait(_pause(failures))
                failures += 1

    def _watch(self, revision: str) -> str:
        """Take over changes until the API server ends the watch; the revision to go on from."""
        query = {
            "watch": "true",
            "resourceVersion": revision,
            "timeoutSeconds": str(WATCH_SECONDS),
            "allowWatchBookmarks": "true",
        }
        with closing(self._connection.open()) as connection:
            response = _get(self._connection, connection, self.path, query, self._item_type)
            for line in _lines(response):
                event = json.loads(line)
                changed = mapping(event, "object")
                kind = text(event, "type")
                if kind == "ERROR":
                    raise WatchError(text(changed, "message") or "the watch has ended with an error")
                revision = text(mapping(changed, "metadata"), "resourceVersion") or revision
                if kind == "DELETED":
                    self._receiver.remove(changed)
                elif kind in ("ADDED", "MODIFIED"):
                    self._receiver.put(changed)
        return revision


class _Listing:
    """All objects, page by page; ``revision`` is that to watch from, once all are read."""

    def __init__(self, connection: Connection, path: str, accepted: str) -> None:
        self.revision = ""
        self._connection = connection
        self._path = path
        self._accepted = accepted

    def objects(self) -> Iterator[Object]:
        query = {"limit": str(PAGE)}
        while True:
            with closing(self._connection.open()) as opened:
                response = _get(self._connection, opened, self._path, query, self._accepted)
                page = json.loads(response.read())
            yield from page.get("items") or ()
            metadata = mapping(page, "metadata")
            if not text(metadata, "continue"):
                self.revision = text(metadata, "resourceVersion")
                return
            query["continue"] = text(metadata, "continue")


def _get(
    connection: Connection,
    opened: http.client.HTTPSConnection,
    path: str,
    query: Mapping[str, str],
    accepted: str,
) -> http.client.HTTPResponse:
    headers = {"Authorization": f"Bearer {connection.token()}", "Accept": accepted}
    opened.request("GET", f"{path}?{urlencode(query)}", headers=headers)
    response = opened.getresponse()
    if response.status == 404:
        raise NotServed
    if response.status != 200:
        raise WatchError(f"GET {path}: {response.status} {response.reason}")
    return response


def _pause(failures: int) -> float:
    """How long to wait after so many failures; not all replicas come back at once."""
    longest = min(LONGEST_PAUSE_SECONDS, PAUSE_SECONDS * 2.0 ** min(failures, 10))
    return longest * (0.5 + random() / 2)


def _log(level: int, message: str, **fields: str) -> None:
    """Log a message with fields, as the formatter of ``serving.logs`` writes them."""
    _LOGGER.log(level, message, extra={"fields": fields})


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while line := response.readline():
        yield line
