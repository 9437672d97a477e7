"""A server that sends ever more, each answer within its bounds: what is read and held of it ends all the same."""

from __future__ import annotations

import gzip
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from urllib3 import PoolManager

from cluster import client as client_module
from cluster.access import Access
from cluster.budget import HELD_BYTES, OBJECT_BYTES, READ_BYTES, Budget, Holding, Holdings, text_bytes
from cluster.client import Client
from cluster.live_objects import LiveObject, UnreadList, live_objects
from cluster.reflector import Reflector
from cluster.storage_migration import saved
from cluster.store import Collection
from commandline.main import main
from resourceapi import deep_json
from resourceapi.api_client import Listing, TooLarge, TooMuch, Unavailable
from resourceapi.measured import NEWEST
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.releases import Profile
from tests.webhook.running import PATIENCE_SECONDS

PROFILE = Profile(f"1.{NEWEST}")
PAGE = 10
KIB = "x" * 1024
EVENT = json.dumps({"type": "ADDED", "object": {"metadata": {"name": "a"}, "x": KIB}}).encode() + b"\n"


def claim(number: int) -> dict[str, Any]:
    return {
        "metadata": {"name": f"c{number}", "namespace": "n", "annotations": {"a": KIB}},
        "spec": {"devices": {}},
    }


class Hostile(BaseHTTPRequestHandler):
    """Answers discovery, and lists of claims whose pages never end."""

    protocol_version = "HTTP/1.1"
    pages = 0

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == f"/apis/{GROUP}":
            self._answer({"versions": [{"version": "v1"}]})
        elif path == f"/apis/{GROUP}/v1":
            self._answer({"resources": [{"name": "resourceclaims"}]})
        elif path == "/version":
            self._answer({"major": "1", "minor": str(NEWEST)})
        elif path == "/bomb":
            self._send(gzip.compress(b" " * 50_000_000), "Content-Encoding: gzip")
        elif path == "/dense":
            self._send(b"[" + b",".join([b"[]"] * 50_000) + b"]")
        elif path == "/moved":
            self._send(b"{}", "Location: /version", code=302)
        elif "watch=true" in query and path == "/dense-watch":
            self._endless(b'{"type":"ADDED","object":{"x":[' + b"{}," * 50_000 + b"{}]}}\n")
        elif "watch=true" in query and path == "/new":
            self._endless(
                lambda number: json.dumps({"type": "ADDED", "object": claim(number)}).encode() + b"\n"
            )
        elif "watch=true" in query:
            self._endless(EVENT * 10)
        elif path == "/endless":
            self._endless(b" " * 65536)
        else:
            Hostile.pages += 1
            items = [claim(Hostile.pages * PAGE + number) for number in range(PAGE)]
            self._answer({"metadata": {"continue": f"p{Hostile.pages}"}, "items": items})

    def _answer(self, value: object) -> None:
        self._send(json.dumps(value).encode())

    def _send(self, body: bytes, *headers: str, code: int = 200) -> None:
        self.send_response(code)
        for header in headers:
            self.send_header(*header.split(": "))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _endless(self, part: bytes | Callable[[int], bytes]) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for number in itertools.count():
                sent = part if isinstance(part, bytes) else part(number)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(sent), sent))
        except OSError:
            pass

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Hostile.pages = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def client_of(server: str, budget: Budget | None = None) -> Client:
    return Client(Access(server, PoolManager(), list), timeout=PATIENCE_SECONDS, budget=budget)


def test_bytes_of_all_pages_are_budgeted(server: str) -> None:
    """The attack: pages without end. At the limit all is read, with one byte more nothing."""
    page = len(
        json.dumps({"metadata": {"continue": "p1"}, "items": [claim(number) for number in range(10, 20)]})
    )
    budget = Budget(5 * page)
    listing = iter(Listing(client_of(server, budget), "/x"))
    found = [next(listing) for _ in range(5 * PAGE)]
    with pytest.raises(TooMuch, match=f"the answers have more than {5 * page:,} bytes in all"):
        next(listing)
    assert len(found) == 5 * PAGE


def test_time_for_all_answers_is_budgeted(server: str) -> None:
    """A server that takes a second for each, by a clock that counts how often it is looked at, is asked five times."""
    seconds = itertools.count()
    listing = Listing(client_of(server, Budget(wait_seconds=5, clock=lambda: float(next(seconds)))), "/x")
    with pytest.raises(TooMuch, match="the answers took more than 5 s in all"):
        list(listing)
    assert Hostile.pages == 5


def test_objects_that_are_held_are_budgeted(server: str) -> None:
    """What they take in memory counts, not only their bytes; after that nothing more is asked."""
    budget = Budget(held_bytes=100 * 4096)
    found = list(
        live_objects(client_of(server), "test", PROFILE, kinds=("ResourceClaim", "Pod"), budget=budget)
    )
    failures = [each for each in found if isinstance(each, UnreadList)]
    assert 50 < sum(isinstance(each, LiveObject) for each in found) < 200
    assert [failure.kind for failure in failures] == ["ResourceClaim", "Pod"]
    assert {type(failure.error) for failure in failures} == {TooMuch}
    assert Hostile.pages < 30


def test_command_says_what_to_do(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("claimcheck.answers.live_cluster.Budget", lambda: Budget(held_bytes=100_000))
    config = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": ""}}],
        "current-context": "c",
    }
    (tmp_path / "config").write_text(json.dumps(config))
    assert main(["validate", "--kubeconfig", str(tmp_path / "config")]) == 2
    said = capsys.readouterr()
    expected = (
        f"no more is read of {server}: the objects take more than 100,000 bytes of memory in all; "
        "read less of the cluster: -n NAMESPACE, or files with --inventory instead of --live"
    )
    assert expected in " ".join((said.out + said.err).split())


def test_saving_is_budgeted(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `migrate-storage` holds of a cluster, too."""
    monkeypatch.setattr("cluster.storage_migration.Budget", lambda: Budget(held_bytes=100_000))
    with pytest.raises(TooMuch, match="the objects take more than 100,000 bytes of memory in all"):
        list(saved(client_of(server)))
    assert Hostile.pages < 30


def test_list_and_watch_of_a_service_have_budgets(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held stays as it was, and the next list begins with a budget of its own."""
    monkeypatch.setattr("cluster.reflector.Budget", lambda: Budget(100_000))
    collection: Collection[str] = Collection(lambda obj: "held")
    reflector = Reflector(client_of(server), "/x", collection)
    for _ in range(2):
        with pytest.raises(TooMuch):
            reflector._list()
    assert not collection.objects
    assert not reflector.synced.is_set()
    with pytest.raises(TooMuch):
        reflector._watch("1")
    assert list(collection.objects) == ["a"]


def test_what_is_held_of_all_collections_has_a_bound(server: str) -> None:
    """The attack: lists and watches that tell of new objects for ever, each with a budget of its own."""
    holdings = Holdings(100 * 4096)
    collections: list[Collection[str]] = [Collection(lambda obj: "held") for _ in range(2)]
    listed, watched = (
        Reflector(client_of(server), path, each, holdings)
        for path, each in zip(("/x", "/new"), collections, strict=True)
    )
    for _ in range(2):
        with pytest.raises(TooMuch, match="the objects that are watched have more than 409,600 bytes in all"):
            watched._watch("1")
        known = len(collections[1].objects)
        assert 100 < known < 400
        with pytest.raises(TooMuch, match="the objects that are watched have more than 409,600 bytes in all"):
            listed._list()
        assert not collections[0].objects
        assert Hostile.pages < 10
        assert len(collections[1].objects) == known


def test_dense_events_are_refused_before_they_are_decoded(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack: an event of 20 MB of brackets took 600 MB, in each of some nine watches."""
    monkeypatch.setattr(client_module, "ANSWER_MEMORY", 1_000_000)
    events = client_of(server).events("/dense-watch", {"watch": "true"}, PATIENCE_SECONDS)
    with pytest.raises(
        TooLarge, match="GET /dense-watch: an event would take more than 1,000,000 bytes of memory"
    ):
        next(events)


def _sized(name: str, size: int) -> Object:
    return {"metadata": {"name": name}, "x": "x" * size}


def test_holding_counts_what_there_is_now() -> None:
    """A new version of an object takes the place of the old one, a list that of all; until it ends both count."""
    most = 4 * (OBJECT_BYTES + 1)
    holding = Holding(Holdings(most), lambda obj: len(obj["x"]))
    for _ in range(3):
        holding.put(_sized("a", 1))
        holding.put(_sized("b", 1))
    holding.add_listed(_sized("c", 1))
    holding.add_listed(_sized("d", 1))
    with pytest.raises(TooMuch):
        holding.add_listed(_sized("e", 1))
    holding.forget_list()
    holding.add_listed(_sized("c", 1))
    holding.add_listed(_sized("d", 1))
    holding.end_list()
    holding.put(_sized("e", 1))
    holding.put(_sized("f", 1))
    with pytest.raises(TooMuch):
        holding.put(_sized("f", 2))
    holding.remove(_sized("c", 1))
    holding.remove(_sized("c", 1))
    holding.put(_sized("f", 2))


def test_holding_has_so_many_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cluster.budget.MOST_WATCHED", 2)
    holding = Holding(Holdings(), lambda obj: 0)
    for name in ("a", "b", "b"):
        holding.put(_sized(name, 1))
        holding.add_listed(_sized(name, 1))
    for hold in (holding.put, holding.add_listed):
        with pytest.raises(TooMuch, match="there are more than 2 objects"):
            hold(_sized("c", 1))


@pytest.mark.parametrize("levels", [1, 5_000])
def test_bytes_as_text(levels: int) -> None:
    """However deep it is, it is about as long as it would be written."""
    value: Object = {"a": "é", "b": [1, 2.5, None, True]}
    for _ in range(levels):
        value = {"a": value}
    written = len(deep_json.dumps(value))
    assert written / 4 < text_bytes(value) < 4 * written


def test_deep_objects_are_not_written_to_be_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a claim of 314 KB and 160,000 levels took 0.35 s each time that a tenant changed it, before others' claims were read."""
    monkeypatch.setattr(deep_json, "dumps", Mock(side_effect=AssertionError))
    value: object = "x"
    for _ in range(5_000):
        value = [value]
    assert text_bytes({"config": [value] * 32}) > 32 * 5_000


def test_services_have_no_budget_for_good(server: str) -> None:
    """A process that serves for ever takes its rights to read from each list, not from its start."""
    budget = Budget(10)
    client = client_of(server, budget)
    with pytest.raises(TooMuch):
        client.request("GET", "/version")
    assert client.within(None).waiting(PATIENCE_SECONDS).request("GET", "/version")[0] == 200


def test_compressed_answers_are_refused(server: str) -> None:
    """The attack: 50 KB that become 50 MB. Nothing compressed is asked for, and nothing is expanded."""
    with pytest.raises(Unavailable, match="GET /bomb: the answer is compressed, which was not asked for"):
        client_of(server).request("GET", "/bomb")


def test_dense_answers_are_refused_before_they_are_decoded(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brackets take thirty times their bytes in memory; a list is asked for again in smaller pages."""
    monkeypatch.setattr(client_module, "ANSWER_MEMORY", 1_000_000)
    with pytest.raises(
        TooLarge, match="GET /dense: the answer would take more than 1,000,000 bytes of memory"
    ):
        client_of(server).request("GET", "/dense")


def test_endless_answer(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks without end are one answer that is too large."""
    monkeypatch.setattr(client_module, "ANSWER_BYTES", 1_000_000)
    with pytest.raises(TooLarge):
        client_of(server).request("GET", "/endless")


def test_redirects_are_not_followed(server: str) -> None:
    """A server could send credentials elsewhere with one."""
    assert client_of(server).request("GET", "/moved")[0] == 302


def test_largest_clusters_fit() -> None:
    """150,000 pods of 10 KB, and the 128 devices of each of 5,000 nodes, as a driver describes them."""
    assert READ_BYTES > 150_000 * 10_000
    device = {
        "name": "gpu-100",
        "attributes": {name: {"string": f"{name}-0000:01"} for name in ("model", "uuid", "pcie", "version")},
        "capacity": {"memory": {"value": "40Gi"}, "cores": {"value": "108"}},
    }
    one = Budget(held_bytes=HELD_BYTES // 5_000)
    one.hold({"metadata": {"name": "a"}, "spec": {"devices": [device] * 128}})
