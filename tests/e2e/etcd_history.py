"""The whole history of some objects, as etcd has kept it: every revision in order, none left out.

The API server is to store JSON (`STORES_JSON`), and to leave the history alone (`KEEPS_HISTORY`).
"""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from resourceapi.objects import Object

STORES_JSON = "--storage-media-type=application/json"
KEEPS_HISTORY = "--etcd-compaction-interval=0"

_ALL = "/registry/"
_END = "/registry/~"  # no resource is called that; what is written there marks the end of a history
FIRST = 2
"""The revision of the first write into an etcd."""
_SILENCE_SECONDS = 120.0


class Change(NamedTuple):
    """One object as it was written at a revision; `obj` is None for a deletion."""

    revision: int
    resource: str
    key: str
    obj: Object | None


class HistoryLost(Exception):
    """etcd does not have all of it any more."""


def history(etcd: str, resources: Sequence[str], since: int = FIRST) -> Iterator[Change]:
    """Every change of these resources (`pods`, `resourceclaims`) from a revision up to now, in order.

    :param etcd: the URL of etcd.
    :param resources: by what etcd's keys begin with, behind `/registry/`.
    :raises HistoryLost: if revisions are missing.
    """
    end = int(_ask(etcd, "kv/put", {"key": _encoded(_END), "value": ""})["header"]["revision"])
    last = since - 1
    for event in _events(etcd, since):
        revision = int(event["kv"]["mod_revision"])
        # One write has one revision, and each write in etcd is of a key below the registry.
        if revision > last + 1 or revision < last:
            raise HistoryLost(f"revision {revision} follows {last}")
        last = revision
        change = _change(event)
        if change is not None and change.resource in resources:
            yield change
        if revision >= end:
            return
    raise HistoryLost(f"the watch ended at revision {last}, before {end}")


def revision_now(etcd: str) -> int:
    """The revision of the last write."""
    return int(_ask(etcd, "kv/range", {"key": _encoded(_END)})["header"]["revision"])


def _change(event: Any) -> Change | None:
    key = base64.b64decode(event["kv"]["key"]).decode()
    parts = key.split("/", 3)
    if len(parts) < 4:
        return None
    resource, name = parts[2], parts[3]
    if resource.startswith("resource.k8s.io"):  # of a CRD: /registry/GROUP/RESOURCE/NAME
        resource, _, name = name.partition("/")
    deleted = event.get("type") == "DELETE"
    value = b"" if deleted else base64.b64decode(event["kv"]["value"])
    obj = json.loads(value) if value.startswith(b"{") else {}
    return Change(int(event["kv"]["mod_revision"]), resource, name, None if deleted else obj)


def _events(etcd: str, since: int) -> Iterator[Any]:
    body = {
        "create_request": {
            "key": _encoded(_ALL),
            "range_end": _encoded(_ALL[:-1] + chr(ord("/") + 1)),
            "start_revision": str(since),
        }
    }
    connection = _connection(etcd)
    try:
        connection.request("POST", "/v3/watch", json.dumps(body))
        for line in connection.getresponse():
            message = json.loads(line)
            if "error" in message:
                raise HistoryLost(str(message["error"]))
            result = message["result"]
            if result.get("canceled"):
                raise HistoryLost(f"etcd has no revisions before {result.get('compact_revision')}")
            yield from result.get("events") or ()
    finally:
        connection.close()


def _ask(etcd: str, path: str, body: object) -> Any:
    connection = _connection(etcd)
    try:
        connection.request("POST", f"/v3/{path}", json.dumps(body))
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def _connection(etcd: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(etcd).netloc, timeout=_SILENCE_SECONDS)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
