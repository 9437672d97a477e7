"""An API server in memory with the Secrets of one namespace, as strict about revisions as the real one."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from typing import Any

from resourceapi.api_client import Unavailable

NAMESPACE, NAME = "claimcheck-system", "certificates"
COLLECTION = f"/api/v1/namespaces/{NAMESPACE}/secrets"
PATH = f"{COLLECTION}/{NAME}"


class Secrets:
    """`stored` by name; `writes` counts what was written; `down`: nobody answers."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Any]] = {}
        self.writes = 0
        self.conflicts = 0
        self.down = False
        self._lock = threading.Lock()
        self._revision = 0

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        if self.down:
            raise Unavailable("connection refused")
        with self._lock:
            if verb == "POST":
                assert path == COLLECTION
                assert isinstance(body, dict)
                assert "resourceVersion" not in body["metadata"]
                name = body["metadata"]["name"]
                return self._conflict() if name in self.stored else self._write(201, name, body)
            assert path.startswith(COLLECTION + "/")
            name = path.removeprefix(COLLECTION + "/")
            if name not in self.stored:
                return 404, {"message": "not found"}
            if verb == "GET":
                return 200, copy.deepcopy(self.stored[name])
            assert verb == "PUT"
            assert isinstance(body, dict)
            stored = self.stored[name]
            if body["metadata"].get("resourceVersion") != stored["metadata"]["resourceVersion"]:
                return self._conflict()
            assert body["type"] == stored["type"], "the type of a Secret is immutable"
            return self._write(200, name, body)

    def _conflict(self) -> tuple[int, Any]:
        self.conflicts += 1
        return 409, {"message": "conflict"}

    def _write(self, code: int, name: str, body: dict[str, Any]) -> tuple[int, Any]:
        self._revision += 1
        self.writes += 1
        written = copy.deepcopy(body)
        written["metadata"]["resourceVersion"] = str(self._revision)
        self.stored[name] = written
        return code, copy.deepcopy(written)
