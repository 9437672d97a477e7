"""Storage of ledgers: objects with a version, which only those can replace who have read the latest one.

They are ConfigMaps of a namespace of their own, where only Claimcheck may write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from resourceapi.api_client import Api, Listing, expect
from resourceapi.errors import WriteConflict
from resourceapi.objects import Object


class Stored(NamedTuple):
    """An object's content (JSON) and its version: an opaque string that differs after every change."""

    content: Object
    version: str


class Store(Protocol):
    """Objects by key (a namespace).  All reads see every write that was finished before."""

    def get(self, key: str) -> Stored | None:
        """The object, or None if there is none."""

    def create(self, key: str, content: Object) -> None:
        """Store a new object. Raises WriteConflict if there is one."""

    def replace(self, key: str, content: Object, version: str) -> None:
        """Replace the object of that version. Raises WriteConflict if it has another one or is gone."""

    def delete(self, key: str, version: str) -> None:
        """Delete the object of that version. Raises WriteConflict if it has another one; none is fine."""

    def keys(self) -> list[str]:
        """The keys of all objects."""


PREFIX = "quota-"
KEY = "ledger"
LABELS = {"app.kubernetes.io/managed-by": "claimcheck", "app.kubernetes.io/component": "quota"}


class ConfigMapStore:
    """Implements :class:`Store`; the key ``team`` is the ConfigMap ``quota-team``.

    All methods raise :class:`resourceapi.api_client.Unavailable` if the API server does not answer as expected.
    """

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    def get(self, key: str) -> Stored | None:
        """The ledger in a ConfigMap; an empty one if its content is no ledger."""
        answer = self._api.request("GET", self._path_of(key))
        if answer[0] == 404:
            return None
        found = expect(answer, f"ConfigMap {self._namespace}/{PREFIX}{key}", 200)
        return Stored(_content(found), found["metadata"]["resourceVersion"])

    def create(self, key: str, content: Object) -> None:
        """Create the ConfigMap."""
        answer = self._api.request("POST", self._path, self._object(key, content))
        self._finish(answer, key, 201)

    def replace(self, key: str, content: Object, version: str) -> None:
        """Replace the ConfigMap if it has this resourceVersion."""
        answer = self._api.request("PUT", self._path_of(key), self._object(key, content, version))
        if answer[0] == 404:
            raise WriteConflict
        self._finish(answer, key, 200)

    def delete(self, key: str, version: str) -> None:
        """Delete the ConfigMap if it has this resourceVersion."""
        options = {"preconditions": {"resourceVersion": version}}
        answer = self._api.request("DELETE", self._path_of(key), options)
        self._finish(answer, key, 200, 404)

    def keys(self) -> list[str]:
        """The namespaces that have a ledger."""
        names = (found["metadata"]["name"] for found in Listing(self._api, self._path))
        return [name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)]

    def _path_of(self, key: str) -> str:
        return f"{self._path}/{PREFIX}{key}"

    def _object(self, key: str, content: Object, version: str = "") -> Object:
        metadata: Object = {"name": PREFIX + key, "namespace": self._namespace, "labels": LABELS}
        if version:
            metadata["resourceVersion"] = version
        text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: text}}

    def _finish(self, answer: tuple[int, Any], key: str, *codes: int) -> None:
        if answer[0] == 409:
            raise WriteConflict
        expect(answer, f"ConfigMap {self._namespace}/{PREFIX}{key}", *codes)


def _content(found: Mapping[str, Any]) -> Object:
    """The content of a ConfigMap; empty, which is no ledger, if there is none in JSON."""
    try:
        value = json.loads((found.get("data") or {})[KEY])
    except (KeyError, TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
