"""The short way for usual requests: taken only by those, with the answers of the general server."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpRequestParser
from hypothesis import given
from hypothesis import strategies as st

from serving.fast_http import Head, read_head
from tests.webhook.examples import admission, claim
from tests.webhook.running import Running, running
from tests.webhook.wire import Wire

USUAL = [
    b"POST /validate?timeout=10s HTTP/1.1",
    b"Host: a",
    b"Content-Type: application/json",
    b"Content-Length: 12",
]
API_SERVERS = [
    *USUAL,
    b"User-Agent: kube-apiserver-admission",
    b"Accept: application/json, */*",
    b"Accept-Encoding: gzip",
]
TRACED = [*API_SERVERS, b"Traceparent: 00-0-0-01", b"authorization: Bearer a", b"Connection: Keep-Alive"]


@pytest.mark.parametrize("lines", [USUAL, API_SERVERS, TRACED], ids=["least", "api-server", "traced"])
def test_usual_heads(lines: list[bytes]) -> None:
    """What API servers send is understood."""
    assert read_head(b"\r\n".join(lines)) == Head("/validate", 12, "timeout=10s")


UNUSUAL = {
    "other-method": (0, b"GET /validate HTTP/1.1"),
    "older-protocol": (0, b"POST /validate HTTP/1.0"),
    "no-protocol": (0, b"POST /validate"),
    "spaces": (0, b"POST  /validate HTTP/1.1"),
    "tab": (0, b"POST\t/validate HTTP/1.1"),
    "no-ascii": (0, "POST /validáte HTTP/1.1".encode()),
    "other-type": (2, b"Content-Type: application/yaml"),
    "parameter-of-type": (2, b"Content-Type: application/json; charset=utf-8"),
    "negative-length": (3, b"Content-Length: -1"),
    "signed-length": (3, b"Content-Length: +1"),
    "huge-length": (3, b"Content-Length: 999999999"),
    "no-length": (3, b"Accept: */*"),
    "chunks": (3, b"Transfer-Encoding: chunked"),
    "expects-go-ahead": (1, b"Expect: 100-continue"),
    "compressed": (1, b"Content-Encoding: gzip"),
    "closes": (1, b"Connection: close"),
    "twice": (1, b"Content-Length: 12"),
    "folded": (1, b" Host: a"),
    "space-before-colon": (1, b"Host : a"),
    "line-feed-inside": (1, b"Host: a\nExpect: 100-continue"),
    "nul": (1, b"Host: \0"),
    "no-host": (1, b"Accept: */*"),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_heads(name: str) -> None:
    """Whatever is not quite plain is for the general server."""
    line, text = UNUSUAL[name]
    assert read_head(b"\r\n".join([*USUAL[:line], text, *USUAL[line + 1 :]])) is None


PIECES = st.one_of(
    st.sampled_from(TRACED + [text for _, text in UNUSUAL.values()]),
    st.sampled_from(
        [b"Content-Length: 012", b"Content-Length: 1_2", b"Host:", b"Accept:\x7f", b"Accept: \xff", b""]
    ),
    st.binary(max_size=12),
)


@given(
    first=st.sampled_from(
        [USUAL[0], b"POST /validate? HTTP/1.1", b"POST /mutate?a b HTTP/1.1", b"POST /convert HTTP/1.1 "]
    ),
    rest=st.permutations(USUAL[1:]),
    more=st.lists(PIECES, max_size=3),
    noise=st.tuples(st.integers(0, 200), st.binary(max_size=2)),
)
def test_what_is_understood_is_understood_alike(
    first: bytes, rest: list[bytes], more: list[bytes], noise: tuple[int, bytes]
) -> None:
    """A head that is taken for plain is one to the general server's parser, and says the same."""
    text = b"\r\n".join([first, *rest, *more])
    at, inserted = noise
    text = text[:at] + inserted + text[at:]
    head = read_head(text) if b"\r\n\r\n" not in text else None
    if head is None or head.path not in ("/validate", "/mutate", "/convert"):
        return
    loop = asyncio.new_event_loop()
    try:
        parser = HttpRequestParser(BaseProtocol(loop), loop, 2**16)
        ((message, _),), upgraded, rest_of_data = parser.feed_data(text + b"\r\n\r\n")
    finally:
        loop.close()
    assert (message.method, message.url.path) == ("POST", head.path)
    assert int(message.headers["Content-Length"]) == head.length
    assert message.headers["Content-Type"] == "application/json"
    special = [message.should_close, message.upgrade, message.chunked, message.compression, upgraded]
    assert not any(special)
    assert rest_of_data == b""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that waits for what is slow to come, as everything may be on a busy machine."""
    with running(
        tmp_path_factory.mktemp("patient"),
        apiServer={"serves": "CustomResources"},
        timeouts={"idle": 600, "body": 600},
    ) as started:
        yield started


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that soon gives up whoever is slow."""
    with running(tmp_path_factory.mktemp("impatient"), timeouts={"idle": 6, "body": 1}) as started:
        yield started


BODY = json.dumps(admission(claim())).encode()


def request(body: bytes = BODY, *more: bytes, path: bytes = b"/validate") -> bytes:
    lines = [
        b"POST %s HTTP/1.1" % path,
        b"Host: localhost",
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        *more,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@pytest.fixture
def wire(service: Running) -> Iterator[Wire]:
    with service.wire() as opened:
        yield opened


@pytest.fixture
def hasty(impatient: Running) -> Iterator[Wire]:
    with impatient.wire() as opened:
        yield opened


def answer(wire: Wire) -> http.client.HTTPResponse:
    response = http.client.HTTPResponse(wire)  # type: ignore[arg-type]
    response.begin()
    return response


def ask(wire: Wire, *parts: bytes) -> tuple[int, bytes]:
    for part in parts:
        wire.sendall(part)
    response = answer(wire)
    return response.status, response.read()


def test_both_ways_answer_alike(wire: Wire) -> None:
    """The short way and the general server say the same, with the same headers, none of which names the software."""
    answers = []
    for more in ((), (b"X-Forwarded-For: a",)):
        wire.sendall(request(BODY, *more))
        response = answer(wire)
        names = {name.lower() for name, _ in response.getheaders()}
        assert "server" not in names
        answers.append((response.status, response.read(), response.getheader("Content-Type"), names))
    assert answers[0] == answers[1]
    assert answers[0][0] == 200


def test_body_in_pieces(wire: Wire) -> None:
    """A request that comes bit by bit is answered once it is complete; so is the next one."""
    whole = request()
    middle = whole.index(b"\r\n\r\n") + 10
    assert ask(wire, whole[:middle], whole[middle:-1], whole[-1:])[0] == 200
    assert ask(wire, whole)[0] == 200
    assert ask(wire, whole[:20], whole[20:])[0] == 200


def test_slow_body(hasty: Wire) -> None:
    """A body that stops coming is given up as anywhere else."""
    assert ask(hasty, request()[:-1]) == (408, b"the body took longer than 1 s\n")


def test_requests_ahead_of_answers(wire: Wire) -> None:
    """Several requests at once are answered one after the other."""
    wire.sendall(request() * 3)
    response = b""
    while response.count(b"HTTP/1.1 200 OK") < 3 or not response.endswith(b"}"):
        received = wire.recv()
        assert received
        response += received


def test_garbage_in_a_body(wire: Wire) -> None:
    """What is no review is refused, and the connection stays."""
    code, text = ask(wire, request(b"garbage"))
    assert (code, text[:21]) == (400, b"the body is not JSON:")
    assert ask(wire, request())[0] == 200


def test_other_paths(wire: Wire) -> None:
    """Where there is no webhook, nothing is answered but that."""
    assert ask(wire, request(path=b"/other")) == (404, b"there is nothing here\n")


def test_unused_connection_ends(hasty: Wire) -> None:
    """A connection without requests is closed after a while."""
    assert ask(hasty, request())[0] == 200
    assert hasty.recv() == b""
