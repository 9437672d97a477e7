"""Certificates in a Secret that all replicas share; its resourceVersion detects concurrent writes."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import Any

from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, expect
from resourceapi.errors import Conflict
from resourceapi.manifests import mapping, text
from serving.certificates import NAMES, Entries

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
