"""Following a collection of a cluster, which here is a small server of its own."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from cluster import reflector
from cluster.access import service_account
from cluster.client import Client
from cluster.reflector import Reflector, _pause
from cluster.store import Collection
from resourceapi.api_client import Unavailable
from resourceapi.manifests import labels_of
from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import Terms
from tests.webhook.running import PATIENCE_SECONDS


def namespace(name: str, revision: int, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels, "resourceVersion": str(revision)}}


class Cluster:
    """What the server answers: `items` to a list, two to a page, and what is put into `events` to a watch.

    An event None ends the watch.
    """

    def __init__(self) -> None:
        self.items = [namespace("a", 1, x="1"), namespace("b", 2), namespace("c", 3)]
        self.events: Queue[dict[str, Any] | None] = Queue()
        self.watched: list[str] = []
        self.broken = 0
        self.accepted: set[str] = set()

    def send(self, kind: str, obj: dict[str, Any]) -> None:
        self.events.put({"type": kind, "object": obj})

    def page(self, start: int) -> dict[str, Any]:
        more = {"continue": str(start + 2)} if start + 2 < len(self.items) else {}
        return {"metadata": {"resourceVersion": "10", **more}, "items": self.items[start : start + 2]}


class Handler(BaseHTTPRequestHandler):
    cluster: Cluster
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        self.cluster.accepted.add(self.headers["Accept"])
        if self.cluster.broken or self.headers["Authorization"] != "Bearer secret":
            self.send_error(self.cluster.broken or 403)
        elif "watch" in query:
            self._watch(query)
        else:
            body = json.dumps(self.cluster.page(int(query.get("continue", "0")))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def _watch(self, query: dict[str, str]) -> None:
        self.cluster.watched.append(query["resourceVersion"])
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while (event := self.cluster.events.get()) is not None:
            line = json.dumps(event).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output is for its failures."""


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


class Following(NamedTuple):
    """A watch that runs, and the labels that it keeps."""

    watch: Reflector
    known: Collection[dict[str, str]]

    @property
    def labels(self) -> dict[str, Any]:
        assert self.watch.synced.wait(PATIENCE_SECONDS)
        return dict(self.known.objects)


@pytest.fixture
def watch(tmp_path: Path, cluster: Cluster) -> Iterator[Following]:
    """A watch of the cluster, running."""
    terms = Terms(("127.0.0.1",), timedelta(9), timedelta(9), timedelta(1))
    maintain(DirectoryStore(tmp_path), terms, datetime.now(UTC))
    (tmp_path / "token").write_text("secret\n")
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"cluster": cluster}))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "current" / "tls.crt", tmp_path / "current" / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    access = service_account(
        f"https://127.0.0.1:{server.server_address[1]}",
        token_file=tmp_path / "token",
        ca_file=tmp_path / "current" / "ca.crt",
    )
    labels = Collection(labels_of)
    watch = Reflector(Client(access), "/api/v1/namespaces", labels, metadata_only=True)
    ending = threading.Event()
    following = threading.Thread(target=watch.run, args=(ending,), daemon=True)
    following.start()
    yield Following(watch, labels)
    ending.set()
    cluster.events.put(None)
    following.join(PATIENCE_SECONDS)
    server.shutdown()
    server.server_close()
    serving.join(PATIENCE_SECONDS)


def test_all_pages_are_read(watch: Following) -> None:
    """After the first list all namespaces are known."""
    assert watch.labels == {"a": {"x": "1"}, "b": {}, "c": {}}


def test_changes_follow(watch: Following, cluster: Cluster) -> None:
    """New, changed and deleted namespaces are noticed; bookmarks change nothing but the revision."""
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    cluster.send("ADDED", namespace("d", 11, y="2"))
    cluster.send("MODIFIED", namespace("a", 12))
    cluster.send("DELETED", namespace("b", 13))
    cluster.send("BOOKMARK", {"metadata": {"resourceVersion": "20"}})
    cluster.events.put(None)
    until(lambda: cluster.watched == ["10", "20"])
    assert watch.labels == {"a": {}, "c": {}, "d": {"y": "2"}}


def test_too_old_a_watch_begins_anew(watch: Following, cluster: Cluster) -> None:
    """When the API server no longer knows the revision, all are read again; what is gone goes."""
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    cluster.items = [namespace("c", 30, z="3")]
    cluster.send("ERROR", {"code": 410, "message": "too old resource version"})
    cluster.events.put(None)
    until(lambda: watch.labels == {"c": {"z": "3"}})


def test_what_is_known_stays(watch: Following, cluster: Cluster) -> None:
    """While the API server refuses to answer, the labels stay as they were; then they follow again."""
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    cluster.broken = 403
    cluster.events.put(None)
    time.sleep(0.3)
    assert watch.labels["a"] == {"x": "1"}
    cluster.items = [namespace("a", 40)]
    cluster.broken = 0
    until(lambda: watch.labels == {"a": {}})


def test_only_metadata_is_asked_for(watch: Following, cluster: Cluster) -> None:
    """Where that is enough, the API server leaves out the rest."""
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    until(lambda: len(cluster.accepted) == 2)
    assert cluster.accepted == {
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    }


def test_collection_that_is_no_longer_served(
    watch: Following, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """What is not served has no objects, and is not listed; that is logged once, and when it is served again."""
    caplog.set_level("INFO", "claimcheck")
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    until(lambda: len(cluster.watched) == 1)
    cluster.broken = 404
    cluster.send(
        "BOOKMARK", {"metadata": {"resourceVersion": "10"}}
    )  # a watch that ends at once without any has failed
    cluster.events.put(None)
    until(lambda: not watch.known.is_listed)
    assert watch.labels == {}
    watch.watch.relist(PATIENCE_SECONDS)
    assert caplog.messages == ["no longer served"]
    cluster.broken = 0
    watch.watch.relist(PATIENCE_SECONDS)
    until(lambda: caplog.messages == ["no longer served", "listed again"])
    assert watch.known.is_listed
    cluster.events.put(None)


def test_recovery_is_logged(watch: Following, cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """Once, after whatever failures; a list that was asked for is no news."""
    caplog.set_level("INFO", "claimcheck")
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    cluster.broken = 500
    cluster.events.put(None)
    until(lambda: caplog.messages == ["watch failed"])
    cluster.broken = 0
    for _ in range(2):
        watch.watch.relist(PATIENCE_SECONDS)
    until(lambda: caplog.messages == ["watch failed", "listed again"])
    cluster.events.put(None)


def test_mistakes_of_ours_end_nothing(
    watch: Following, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception is logged, and the watch goes on with a new list."""
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    mistakes = [KeyError("ours")]

    def fail(changes: object) -> None:
        if mistakes and len(watch.known.objects) > 3:
            raise mistakes.pop()

    watch.known.listen(fail)
    cluster.send("ADDED", namespace("d", 11))
    until(lambda: "watch failed" in caplog.text)
    cluster.items.append(namespace("e", 12))
    cluster.events.put(None)
    until(lambda: "e" in watch.labels)


def test_listed_again_on_demand(watch: Following, cluster: Cluster) -> None:
    """Whoever cannot wait for events has the watch broken off; it goes on from the new list."""
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    until(lambda: len(cluster.watched) == 1)
    cluster.items = [namespace("d", 40)]
    watch.watch.relist(PATIENCE_SECONDS)
    assert watch.labels == {"d": {}}
    until(lambda: len(cluster.watched) == 2)

    def has_come() -> bool:
        cluster.send("ADDED", namespace("e", 41))  # which the watch that was broken off may get as well
        return watch.labels == {"d": {}, "e": {}}

    until(has_come)
    for _ in cluster.watched:
        cluster.events.put(None)


def test_waiting_for_a_revision(watch: Following, cluster: Cluster) -> None:
    """Whoever has written an object waits for the event about it; all that came before is held by then, and nothing is listed again."""
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    watch.watch.wait_for(10, PATIENCE_SECONDS)
    for no_revision_yet in (12, 0):
        with pytest.raises(Unavailable, match=r"GET /api/v1/namespaces: no event within 0.1 s"):
            watch.watch.wait_for(no_revision_yet, 0.1)
    cluster.items = []
    cluster.send("ADDED", namespace("d", 11))
    cluster.send("MODIFIED", namespace("a", 12))
    watch.watch.wait_for(12, PATIENCE_SECONDS)
    assert watch.labels == {"a": {}, "b": {}, "c": {}, "d": {}}
    cluster.events.put(None)


def test_listed_again_on_demand_often(watch: Following, cluster: Cluster) -> None:
    """Many who ask at once each get a list that began after they asked."""
    seen: list[bool] = []

    def ask(number: int) -> None:
        cluster.items.append(namespace(f"n{number}", 50 + number))
        watch.watch.relist(PATIENCE_SECONDS)
        seen.append(f"n{number}" in watch.known.objects)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert seen == [True] * 8
    for _ in cluster.watched:
        cluster.events.put(None)


def test_listed_again_during_a_pause(watch: Following, cluster: Cluster) -> None:
    """After failures nobody who asks waits for the pause to end; without an answer it is an error."""
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    cluster.broken = 500
    cluster.events.put(None)
    with pytest.raises(Unavailable, match=r"GET /api/v1/namespaces: no list within 0.1 s"):
        watch.watch.relist(0.1)
    assert watch.labels["a"] == {"x": "1"}
    cluster.items, cluster.broken = [namespace("a", 40)], 0
    watch.watch.relist(PATIENCE_SECONDS)
    assert watch.labels == {"a": {}}


def test_listed_again_where_it_is_not_served(watch: Following, cluster: Cluster) -> None:
    """That it is not served is an answer, too."""
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    cluster.broken = 404
    watch.watch.relist(PATIENCE_SECONDS)
    assert watch.labels == {}
    cluster.events.put(None)


def test_watches_that_end_at_once(
    watch: Following, cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that ends each watch at once is asked again after ever longer pauses; it was asked 260 times a second."""
    pauses: list[int] = []

    def pause(failures: int) -> float:
        pauses.append(failures)
        return 0.0

    monkeypatch.setattr(reflector, "_pause", pause)
    caplog.set_level("WARNING", "claimcheck")
    monkeypatch.setattr(reflector, "SHORT_SECONDS", PATIENCE_SECONDS)
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    for _ in range(4):
        cluster.events.put(None)
    until(lambda: pauses == [0, 1, 2, 3] and len(cluster.watched) == 5)
    assert caplog.messages == ["watch failed"] * 4


def test_watches_that_end_at_once_with_events(
    watch: Following, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is there one watch after another if each brings a bookmark; the next one goes on where that has ended."""
    rests: list[float] = []
    monkeypatch.setattr(watch.watch, "_rest", lambda seconds, _: rests.append(seconds))
    monkeypatch.setattr(reflector, "SHORT_SECONDS", PATIENCE_SECONDS)
    assert watch.watch.synced.wait(PATIENCE_SECONDS)
    for revision in ("20", "30"):
        cluster.send("BOOKMARK", {"metadata": {"resourceVersion": revision}})
        cluster.events.put(None)
    until(lambda: cluster.watched == ["10", "20", "30"])
    assert [0 < seconds <= PATIENCE_SECONDS for seconds in rests] == [True, True]


def test_pauses_grow() -> None:
    """The longer the cluster does not answer, the more rarely it is asked: up to twice a minute."""
    assert [0.5 <= _pause(0) <= 1, 2 <= _pause(2) <= 4, 15 <= _pause(1_000_000) <= 30] == [True] * 3
