"""What an API server tells those who watch, with the times at which it came; read only when all is over."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Self

from tests.e2e.client import Client
from tests.e2e.etcd_history import Change
from tests.e2e.fleet import GROUP

PATHS = {
    "resourceclaims": f"{GROUP}/resourceclaims",
    "pods": "/api/v1/pods",
    "resourceslices": f"{GROUP}/resourceslices",
}


class WatchRecorder:
    """Watches from the first event on, until the block ends; for servers whose etcd nobody can read."""

    def __init__(self, client: Client, paths: Mapping[str, str] = PATHS) -> None:
        self.seen: dict[str, list[tuple[float, bytes]]] = {resource: [] for resource in paths}
        """Event after event, with the time (monotonic)."""
        self._client = client
        self._ending = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(resource, path), daemon=True)
            for resource, path in paths.items()
        ]

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()  # The watches end with the server.

    def _watch(self, resource: str, path: str) -> None:
        seen = self.seen[resource]
        query = {"watch": "true", "resourceVersion": "1", "timeoutSeconds": "86400"}
        while not self._ending.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                for line in self._client.stream(path, query):
                    seen.append((time.monotonic(), line))
            # The server sends those away who do not read fast enough.
            if seen and not self._ending.wait(0.1):
                query["resourceVersion"] = json.loads(seen[-1][1])["object"]["metadata"]["resourceVersion"]

    def events(self, resource: str) -> Iterator[tuple[float, Any]]:
        """Times and decoded events."""
        for seconds, line in list(self.seen[resource]):
            yield seconds, json.loads(line)

    def changes(self) -> list[Change]:
        """All of it in the order in which it was written."""
        found = [
            _change(resource, event)
            for resource in self.seen
            for _, event in self.events(resource)
            if event["type"] != "BOOKMARK"
        ]
        return sorted(found, key=lambda change: change.revision)


def _change(resource: str, event: Any) -> Change:
    if event["type"] == "ERROR":
        raise AssertionError(f"the watch of {resource} has lost events: {event['object']}")
    metadata = event["object"]["metadata"]
    key = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
    obj = None if event["type"] == "DELETED" else event["object"]
    return Change(int(metadata["resourceVersion"]), resource, key, obj)
