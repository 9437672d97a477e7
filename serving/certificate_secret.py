"""Certificates in a Secret, which all replicas share; its resourceVersion decides who was first."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import Any

from resourceapi.api_client import Api, expect
from resourceapi.manifests import mapping, text
from serving.certificate_store import Conflict
from serving.certificates import NAMES, Entries

LABELS = {"app.kubernetes.io/managed-by": "claimcheck", "app.kubernetes.io/component": "certificates"}
OK, CREATED, NOT_FOUND, CONFLICT = 200, 201, 404, 409


class SecretStore:
    """A Store (:class:`serving.certificate_store.Store`) in a Secret of type ``kubernetes.io/tls``, or of any type that it has.

    What else is in the Secret stays.  All methods raise :class:`resourceapi.api_client.Unavailable`.
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
        answer = self._api.request("GET", self._path)
        if answer[0] == NOT_FOUND:
            return None, ""
        found = expect(answer, f"GET {self._path}", OK)
        self._found = found
        data = mapping(found, "data")
        entries = {name: _decoded(data[name]) for name in NAMES if name in data}
        return entries, text(mapping(found, "metadata"), "resourceVersion")

    def save(self, entries: Entries, revision: str) -> None:
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
        # gone, or there by now: both are somebody else's doing
        if answer[0] in (CONFLICT, NOT_FOUND):
            raise Conflict(f"{self._path} has other certificates by now")
        self._found = expect(answer, f"writing {self._path}", OK, CREATED)


def _decoded(value: Any) -> bytes:
    """The content of an entry; what is no Base64 is as good as nothing."""
    try:
        return b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError):
        return b""
