"""The service's own client of the API server."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from urllib3 import PoolManager

from cluster import client
from cluster.access import Access, service_account
from cluster.client import Client
from resourceapi import deep_json
from resourceapi.api_client import TooLarge, Unavailable
from serving.certificates import BUNDLE, LEAF, LEAF_KEY, Terms, advance
from tests.webhook.running import PATIENCE_SECONDS

#: What etcd takes of an object by default, in bytes, and how many times as long that can be as JSON: affinities of pods are.
LARGEST_OBJECT, LONGEST_JSON = 3 << 19, 7.3
EVENTS = b"".join(json.dumps({"type": "ADDED", "object": number}).encode() + b"\n" for number in range(3))
DEEP = b'{"type": "ADDED", "object": ' + b"[" * 9_999 + b"]" * 9_999 + b"}"
ODD = {
    "/deep": (200, DEEP),
    "/watch?watch=deep": (200, DEEP + b"\n" + EVENTS),
    "/watch?watch=true": (200, EVENTS + b"\n"),
    "/watch?watch=large": (200, b'{"type": "' + b"x" * 2000),
    "/watch?watch=refused": (410, b'{"kind": "Status", "message": "too old"}'),
    "/html": (502, b"<html>Bad Gateway</html>"),
    "/long": (422, json.dumps({"code": 422, "message": "x" * 100_000}).encode()),
    "/long-and-plain": (404, b"x" * 100_000),
    "/plain": (404, b"404 page not found\n"),
    "/garbage": (200, b"<html>"),
    "/empty": (200, b""),
    "/large": (200, b'"' + b"x" * 1000 + b'"'),
}


class Handler(BaseHTTPRequestHandler):
    """Answers with what it was asked; some paths with something odd."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        echo = json.dumps(
            {
                "verb": self.command,
                "path": self.path,
                "token": self.headers["Authorization"],
                "body": json.loads(body) if body else None,
                "port": self.client_address[1],
            }
        ).encode()
        code, content = ODD.get(self.path, (200, echo))
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        if self.path == "/last":
            self.close_connection = True  # without a word

    do_POST = do_PUT = do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Client]:
    day = timedelta(days=1)
    entries = advance(None, Terms(("127.0.0.1",), 30 * day, day, day), datetime.now(UTC))
    for name in (BUNDLE, LEAF, LEAF_KEY):
        (tmp_path / name).write_bytes(entries[name])
    (tmp_path / "token").write_text("secret\n")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / LEAF, tmp_path / LEAF_KEY)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    access = service_account(
        f"https://127.0.0.1:{server.server_port}",
        token_file=tmp_path / "token",
        ca_file=tmp_path / BUNDLE,
    )
    client = Client(access, timeout=PATIENCE_SECONDS)
    yield client
    client.close()
    server.shutdown()
    thread.join()
    server.server_close()


def test_request(api: Client) -> None:
    """Verb, path, query, body and token arrive; the answer is decoded."""
    code, echo = api.request("PUT", "/api/v1/x", {"a": 1}, {"limit": "5"})
    assert code == 200
    assert (echo["verb"], echo["path"], echo["body"], echo["token"]) == (
        "PUT",
        "/api/v1/x?limit=5",
        {"a": 1},
        "Bearer secret",
    )


def test_token_is_read_anew(api: Client, tmp_path: Path) -> None:
    """A token that has been renewed is used for the next request."""
    (tmp_path / "token").write_text("renewed")
    assert api.request("GET", "/")[1]["token"] == "Bearer renewed"


def test_connection_is_kept_and_opened_again(api: Client) -> None:
    """Requests share a connection; one that the server has closed is replaced."""
    first, second = (api.request("GET", path)[1]["port"] for path in ("/", "/last"))
    assert first == second
    assert api.request("GET", "/")[1]["port"] != first


def test_errors_in_plain_text(api: Client) -> None:
    """An error that is no JSON is one with a message."""
    assert api.request("GET", "/plain") == (404, {"message": "404 page not found"})


@pytest.mark.parametrize("path", ["/garbage", "/empty"])
def test_no_json(api: Client, path: str) -> None:
    """An answer that should be JSON and is not is none."""
    with pytest.raises(Unavailable, match=f"GET {path}"):
        api.request("GET", path)


@pytest.mark.parametrize("path", ["/long", "/long-and-plain"])
def test_messages_are_shortened(api: Client, path: str) -> None:
    """Whoever answers for the API server may write what it likes into logs and reports."""
    answer = api.request("GET", path)[1]
    assert answer.pop("message") == "x" * 1_999 + "…"
    assert answer == ({"code": 422} if path == "/long" else {})


def test_html_is_no_message(api: Client) -> None:
    """An error page of a proxy is told by the reason of its status."""
    assert api.request("GET", "/html") == (502, {"message": "Bad Gateway"})


def test_events(api: Client) -> None:
    """A watch gives the objects of its lines, until the server ends it; then the client can be asked again."""
    found = list(api.events("/watch", {"watch": "true"}, PATIENCE_SECONDS))
    assert [event["object"] for event in found] == [0, 1, 2]
    assert api.request("GET", "/")[0] == 200


def test_deep_objects(api: Client) -> None:
    """Objects of as many levels as an API server stores are read in answers and events, and can be sent."""
    answer = api.request("GET", "/deep")[1]
    assert answer["type"] == "ADDED"
    events = api.events("/watch", {"watch": "deep"}, PATIENCE_SECONDS)
    assert [event["type"] for event in events] == ["ADDED"] * 4
    nobody = Client(Access("https://no-such-host.invalid", PoolManager(), list))
    with pytest.raises(Unavailable, match="no-such-host"):  # which is after the body has been written
        nobody.request("PUT", "/", answer)


@pytest.mark.parametrize("value", ["private\nrest", "private\r\nX-Other: 1", "private\x00", "privat\u0119"])
def test_credentials_are_not_in_errors(api: Client, tmp_path: Path, value: str) -> None:
    """A token that no header can hold is refused in words of ours, whoever would have quoted it."""
    (tmp_path / "token").write_text(value, "utf-8", newline="")
    with pytest.raises(Unavailable) as caught:
        api.request("GET", "/x")
    assert str(caught.value) == (
        "GET /x: the value of the header Authorization has characters that no header can have"
    )
    (tmp_path / "token").write_bytes(b"private \xff")
    with pytest.raises(Unavailable) as caught:
        api.request("GET", "/x")
    assert caught.value.reason == "the request has an address or a header that cannot be sent"


def test_watch_that_is_left(api: Client) -> None:
    """Whoever closes the generator gets no more events, and leaves nothing of them to the next request."""
    with closing(api.events("/watch", {"watch": "true"}, PATIENCE_SECONDS)) as events:
        assert next(events)["object"] == 0
    assert api.request("GET", "/")[1]["path"] == "/"


@pytest.mark.parametrize(
    ("watch", "code", "reason"),
    [("refused", 410, "too old"), ("large", 0, "GET /watch: an event has more than 1,000 bytes")],
)
def test_watch_that_fails(
    api: Client, watch: str, code: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal has its status; an event beyond the bound is not read to its end."""
    monkeypatch.setattr(client, "ANSWER_BYTES", 1000)
    with pytest.raises(Unavailable) as caught:
        list(api.events("/watch", {"watch": watch}, PATIENCE_SECONDS))
    assert (caught.value.code, caught.value.reason) == (code, reason)


def test_no_object_is_too_large(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a pod that etcd takes is an answer, a page of one and an event, however much longer it is as JSON.

    A collection with one object that cannot be read cannot be read at all, whoever has made the object.
    """
    argument = "<" * int(LARGEST_OBJECT * LONGEST_JSON / len(r"\u003c"))
    pod = deep_json.as_go_writes_it({"spec": {"containers": [{"args": [argument]}]}}).encode()
    monkeypatch.setitem(ODD, "/pods?limit=1", (200, b'{"items": [' + pod + b"]}"))
    monkeypatch.setitem(ODD, "/pods/large", (200, pod))
    monkeypatch.setitem(ODD, "/pods?watch=true", (200, b'{"type": "ADDED", "object": ' + pod + b"}\n"))
    (event,) = api.events("/pods", {"watch": "true"}, PATIENCE_SECONDS)
    _, page = api.request("GET", "/pods", query={"limit": "1"})
    for found in (event["object"], *page["items"], api.request("GET", "/pods/large")[1]):
        assert found["spec"]["containers"] == [{"args": [argument]}]


def test_pages_are_smaller_than_objects(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of several objects is refused sooner: it can be asked for again with fewer."""
    monkeypatch.setattr(client, "PAGE_BYTES", 1001)
    for limit in ("1", "2"):
        monkeypatch.setitem(ODD, f"/large?limit={limit}", ODD["/large"])
    assert api.request("GET", "/large", query={"limit": "1"})[0] == 200
    with pytest.raises(TooLarge, match="GET /large: the answer has more than 1,001 bytes"):
        api.request("GET", "/large", query={"limit": "2"})


def test_answers_may_be_refused_that_others_would_read(api: Client) -> None:
    """By their bytes, or by what they would take in memory; also within a budget, and for other media types."""
    with pytest.raises(TooLarge, match="GET /large: the answer has more than 10 bytes"):
        api.taking(client.Most(10, 10**6)).within(None).accepting(client.JSON).request("GET", "/large")
    with pytest.raises(TooLarge, match="GET /large: the answer would take more than 10 bytes of memory"):
        api.taking(client.Most(10**6, 10)).request("GET", "/large")
    assert api.taking(client.Most(10**6, 10**6)).request("GET", "/large")[0] == 200


def test_unreachable(api: Client, tmp_path: Path) -> None:
    """Neither a port where nobody listens nor a missing token is more than an error."""
    access = service_account("https://127.0.0.1:9", token_file=tmp_path / "token", ca_file=tmp_path / BUNDLE)
    nobody = Client(access)
    with pytest.raises(Unavailable):
        nobody.request("GET", "/")
    (tmp_path / "token").unlink()
    with pytest.raises(Unavailable, match="token"):
        api.request("GET", "/")


def test_answers_are_read_up_to_a_bound(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger is not read to its end, and what comes after it is the answer to the next request."""
    assert api.request("GET", "/large")[1] == "x" * 1000
    monkeypatch.setattr(client, "ANSWER_BYTES", 1001)
    for _ in range(2):
        with pytest.raises(TooLarge, match="GET /large: the answer has more than 1,001 bytes"):
            api.request("GET", "/large")
        assert api.request("GET", "/small")[1]["path"] == "/small"
