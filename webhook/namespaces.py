"""The labels of a cluster's namespaces, kept up to date by list and watch."""

from __future__ import annotations

import http.client
import json
import logging
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlencode, urlsplit

from validation.lints.shapes import mapping, name_of, text
from webhook.logs import log

PATH = "/api/v1/namespaces"
PAGE = 500
WATCH_SECONDS = 60
# More than a watch lasts: what takes longer is a connection that nobody answers any more.
SOCKET_SECONDS = WATCH_SECONDS + 15.0
PAUSE_SECONDS = 1.0


class WatchError(Exception):
    """The API server answers otherwise than expected, or the watch is too old to go on."""


class NamespaceWatch:
    """``labels`` are those of all namespaces by name, once they are ``synced``; later changes follow within moments.

    While the API server cannot be reached they stay as they were.
    """

    def __init__(self, server: str, *, token_file: Path, ca_file: Path) -> None:
        """
        :param server: ``https://host[:port]``.
        :param token_file: read for every request, since kubelet renews it.
        :raises OSError: if the authorities cannot be read.
        """
        self.labels: dict[str, Mapping[str, str]] = {}
        self.synced = Event()
        self._address = urlsplit(server)
        self._token_file = token_file
        self._tls = ssl.create_default_context(cafile=str(ca_file))

    def run(self, ending: Event) -> None:
        """Follow the cluster until told to end; what goes wrong is logged and tried again."""
        while not ending.is_set():
            try:
                revision = self._list()
                self.synced.set()
                while not ending.is_set():
                    revision = self._watch(revision)
            except (OSError, http.client.HTTPException, ValueError, WatchError) as error:
                log(logging.WARNING, "namespaces are not followed", reason=str(error) or type(error).__name__)
                ending.wait(PAUSE_SECONDS)

    def _list(self) -> str:
        """Take over all namespaces; the revision to watch from."""
        found: dict[str, Mapping[str, str]] = {}
        query = {"limit": str(PAGE)}
        while True:
            with closing(self._connect()) as connection:
                page = json.loads(self._get(connection, query).read())
            for item in page.get("items") or ():
                found[name_of(item)] = _labels(item)
            metadata = mapping(page, "metadata")
            if not text(metadata, "continue"):
                break
            query["continue"] = text(metadata, "continue")
        # name by name, since verdicts read it meanwhile
        for name in self.labels.keys() - found.keys():
            del self.labels[name]
        self.labels.update(found)
        return text(metadata, "resourceVersion")

    def _watch(self, revision: str) -> str:
        """Take over changes until the API server ends the watch; the revision to go on from."""
        query = {
            "watch": "true",
            "resourceVersion": revision,
            "timeoutSeconds": str(WATCH_SECONDS),
            "allowWatchBookmarks": "true",
        }
        with closing(self._connect()) as connection:
            for line in _lines(self._get(connection, query)):
                event = json.loads(line)
                changed = mapping(event, "object")
                kind = text(event, "type")
                if kind == "ERROR":
                    raise WatchError(text(changed, "message") or "the watch has ended with an error")
                revision = text(mapping(changed, "metadata"), "resourceVersion") or revision
                if kind == "DELETED":
                    self.labels.pop(name_of(changed), None)
                elif kind in ("ADDED", "MODIFIED"):
                    self.labels[name_of(changed)] = _labels(changed)
        return revision

    def _connect(self) -> http.client.HTTPSConnection:
        host, port = self._address.hostname or "", self._address.port
        return http.client.HTTPSConnection(host, port, timeout=SOCKET_SECONDS, context=self._tls)

    def _get(
        self, connection: http.client.HTTPSConnection, query: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        token = self._token_file.read_text("utf-8").strip()
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        connection.request("GET", f"{PATH}?{urlencode(query)}", headers=headers)
        response = connection.getresponse()
        if response.status != 200:
            raise WatchError(f"GET {PATH}: {response.status} {response.reason}")
        return response


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    while line := response.readline():
        yield line


def _labels(namespace: Any) -> dict[str, str]:
    labels = mapping(namespace, "metadata", "labels")
    return {key: value for key, value in labels.items() if isinstance(value, str)}
