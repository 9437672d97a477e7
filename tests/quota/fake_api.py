"""An API server in memory, as far as quotas use one."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from resourceapi.api_client import Unavailable
from resourceapi.objects import Object

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/team/resourceclaims"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
QUOTAS = "/api/v1/namespaces/team/resourcequotas"
ALL_QUOTAS = "/api/v1/resourcequotas"
PODS = "/api/v1/namespaces/team/pods"
LEDGERS = "/api/v1/namespaces/system/configmaps"


class FakeApi:
    """Collections by path. Objects have versions; lists come in pages of two; `down` makes every request fail, `unreadable` those for a path."""

    def __init__(self) -> None:
        self.collections: dict[str, dict[str, Object]] = {
            path: {} for path in (CLAIMS, CLASSES, QUOTAS, ALL_QUOTAS, PODS, LEDGERS)
        }
        self.requests: list[tuple[str, str]] = []
        self.down = False
        self.unreadable = ""
        self._version = 0

    def add(self, path: str, *objects: Object) -> None:
        for obj in objects:
            self._store(path, obj)

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        self.requests.append((verb, path))
        if self.down or path == self.unreadable:
            raise Unavailable("connection refused")
        if path in self.collections:
            return self._list(path, query or {}) if verb == "GET" else self._create(path, body)
        collection, _, name = path.rpartition("/")
        stored = self.collections[collection].get(name)
        if stored is None:
            return 404, {"message": f'"{name}" not found'}
        if verb == "GET":
            return 200, copy.deepcopy(stored)
        assert isinstance(body, dict)
        wanted = body["preconditions"] if verb == "DELETE" else body["metadata"]
        if wanted["resourceVersion"] != stored["metadata"]["resourceVersion"]:
            return 409, {"message": "conflict"}
        if verb == "DELETE":
            del self.collections[collection][name]
            return 200, {}
        return 200, self._store(collection, body)

    def _list(self, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        selected = query.get("fieldSelector", "").removeprefix("metadata.name=")
        found = [obj for name, obj in self.collections[path].items() if selected in ("", name)]
        start = int(query.get("continue", 0))
        following = str(start + 2) if start + 2 < len(found) else ""
        return 200, {"items": copy.deepcopy(found[start : start + 2]), "metadata": {"continue": following}}

    def _create(self, path: str, body: object) -> tuple[int, Any]:
        assert isinstance(body, dict)
        if body["metadata"]["name"] in self.collections[path]:
            return 409, {"message": "exists"}
        return 201, self._store(path, body)

    def _store(self, path: str, obj: Object) -> Object:
        self._version += 1
        stored = copy.deepcopy(obj)
        stored["metadata"]["resourceVersion"] = str(self._version)
        self.collections[path][stored["metadata"]["name"]] = stored
        return copy.deepcopy(stored)


def quota(hard: dict[str, str], used: dict[str, str] | None = None) -> Object:
    """A ResourceQuota as lists have it: without kind."""
    return {
        "metadata": {"name": "gpus", "namespace": "team", "uid": "q1"},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": used or {}},
    }
