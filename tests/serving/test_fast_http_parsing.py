"""The fast path is held to aiohttp's parser: what it answers itself is to aiohttp the same request, whatever the bytes."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_parser import HttpRequestParser
from hypothesis import given, settings
from hypothesis import strategies as st

from serving.dispatch import Reply, Unfinished
from serving.fast_http import FastConnection, Head, read_head

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
BODY = b'{"a": "abc"}'


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
    "absolute-target": (0, b"POST http://a/validate HTTP/1.1"),
    "no-slash": (0, b"POST validate HTTP/1.1"),
    "quoted-path": (0, b"POST /valid%61te HTTP/1.1"),
    "quoted-query": (0, b"POST /validate?timeout=1%30s HTTP/1.1"),
    "fragment": (0, b"POST /validate?timeout=10s#a HTTP/1.1"),
    "empty-line-first": (0, b"\r\nPOST /validate HTTP/1.1"),
    "other-type": (2, b"Content-Type: application/yaml"),
    "parameter-of-type": (2, b"Content-Type: application/json; charset=utf-8"),
    "negative-length": (3, b"Content-Length: -1"),
    "signed-length": (3, b"Content-Length: +1"),
    "huge-length": (3, b"Content-Length: 999999999"),
    "length-beyond-64-bits": (3, b"Content-Length: 18446744073709551628"),
    "length-as-hexadecimal": (3, b"Content-Length: 0xc"),
    "length-as-list": (3, b"Content-Length: 12, 12"),
    "length-with-underscore": (3, b"Content-Length: 1_2"),
    "length-in-other-digits": (3, "Content-Length: \u0661\u0662".encode()),
    "no-length": (3, b"Accept: */*"),
    "chunks": (3, b"Transfer-Encoding: chunked"),
    "chunks-and-length": (1, b"Transfer-Encoding: chunked"),
    "disguised-chunks": (1, b"Transfer-Encoding\x0b: chunked"),
    "other-coding": (1, b"Transfer-Encoding: identity"),
    "expects-go-ahead": (1, b"Expect: 100-continue"),
    "compressed": (1, b"Content-Encoding: gzip"),
    "closes": (1, b"Connection: close"),
    "upgrades": (1, b"Upgrade: h2c"),
    "names-headers-of-the-hop": (1, b"Connection: content-length"),
    "twice": (1, b"Content-Length: 12"),
    "folded": (1, b" Host: a"),
    "folded-by-tab": (1, b"\tHost: a"),
    "space-before-colon": (1, b"Host : a"),
    "line-feed-inside": (1, b"Host: a\nExpect: 100-continue"),
    "carriage-return-inside": (1, b"Host: a\rExpect: 100-continue"),
    "nul": (1, b"Host: \0"),
    "no-colon": (1, b"Host"),
    "no-name": (1, b": a"),
    "no-host": (1, b"Accept: */*"),
    "trailer": (1, b"Trailer: Content-Length"),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_heads(name: str) -> None:
    """Whatever is not quite plain is for the general server."""
    line, text = UNUSUAL[name]
    assert read_head(b"\r\n".join([*USUAL[:line], text, *USUAL[line + 1 :]])) is None


# --- whole streams


class Parsed(NamedTuple):
    """What a parser says about a request."""

    target: str
    body: bytes


class Transport(asyncio.Transport):
    """Keeps what is answered, and who reads what comes."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0
        self.protocol: Any = None

    def write(self, data: Any) -> None:
        self.written += 1

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol


class General(asyncio.Protocol):
    """The general server, which only keeps what it gets."""

    def __init__(self) -> None:
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data


class Server:
    """Answers whatever the fast path takes for a request, and keeps it."""

    def __init__(self) -> None:
        self.fast_connections: set[FastConnection] = set()
        self.answered: list[Parsed] = []

    def takes_fast_path(self, head: Head, transport: asyncio.Transport) -> bool:
        return True

    def answer_fast(self, head: Head, body: bytes, transport: asyncio.Transport) -> Reply | Unfinished:
        target = f"{head.path}?{head.query}" if head.query else head.path
        self.answered.append(Parsed(target, body))
        return Reply(200, b"{}")

    def general_protocol(self, unfinished: Unfinished | None = None) -> asyncio.Protocol:
        return General()


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def answered_fast(loop: asyncio.AbstractEventLoop, pieces: list[bytes]) -> tuple[list[Parsed], bytes]:
    """The requests in a stream that the fast path answers, and the bytes that it leaves to the general server."""

    async def main() -> tuple[list[Parsed], bytes]:
        server, transport = Server(), Transport()
        connection = FastConnection(server, idle_seconds=60)
        transport.protocol = connection
        connection.connection_made(transport)
        for piece in pieces:
            transport.protocol.data_received(piece)
        connection.hand_over()
        assert transport.written == len(server.answered)
        return server.answered, transport.protocol.received

    return loop.run_until_complete(main())


def parsed(loop: asyncio.AbstractEventLoop, stream: bytes) -> list[Parsed]:
    """The requests that aiohttp's parser finds in a stream, complete and with nothing special about them.

    :raises HttpProcessingError: if the stream is no HTTP.
    """
    parser = HttpRequestParser(BaseProtocol(loop), loop, 2**16, auto_decompress=False)
    messages, is_upgraded, left = parser.feed_data(stream)
    assert (is_upgraded, left) == (False, b"")
    requests = []
    for message, payload in messages:
        assert (message.method, message.version) == ("POST", (1, 1))
        assert message.headers["Content-Type"] == "application/json"
        assert not any([message.should_close, message.upgrade, message.chunked, message.compression])
        assert payload.is_eof()
        body = payload.read_nowait()
        assert int(message.headers["Content-Length"]) == len(body)
        assert str(message.url.path) == message.path.partition("?")[0]
        assert message.url.query_string == message.path.partition("?")[2]
        requests.append(Parsed(message.path.removesuffix("?"), body))
    return requests


def agree(loop: asyncio.AbstractEventLoop, pieces: list[bytes]) -> int:
    """Hold the fast path to aiohttp's parser on one stream; how many requests it has answered.

    What is left to the general server must be the end of the stream; what comes before it is parsed on its own, since the
    parser forgets the requests before an error.
    """
    answered, left = answered_fast(loop, pieces)
    stream = b"".join(pieces)
    assert stream.endswith(left)
    assert parsed(loop, stream[: len(stream) - len(left)]) == answered
    return len(answered)


def joined(lines: list[bytes], body: bytes = BODY, end: bytes = b"\r\n") -> bytes:
    return end.join(lines) + end * 2 + body


def of_length(body: bytes, *more: bytes) -> bytes:
    return joined([*USUAL[:3], b"Content-Length: %d" % len(body), *more], body)


SMUGGLED = (
    b"POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
)
HOSTILE = {
    "body-that-is-a-request": of_length(SMUGGLED),
    "length-too-short": joined(USUAL, BODY + SMUGGLED),
    "length-of-nothing": joined([*USUAL[:3], b"Content-Length: 0"], SMUGGLED),
    "length-in-zeros": joined([*USUAL[:3], b"Content-Length: 00000012"]),
    "two-lengths": joined([*USUAL, b"Content-Length: 0"], BODY + SMUGGLED),
    "chunks-and-length": joined([*USUAL, b"Transfer-Encoding: chunked"], b"0\r\n\r\n" + SMUGGLED),
    "length-and-chunks": joined(
        [USUAL[0], b"Transfer-Encoding: chunked", *USUAL[1:]], b"0\r\n\r\n" + SMUGGLED
    ),
    "chunks-with-extension": joined(
        [*USUAL[:3], b"Transfer-Encoding: chunked"], b"c;a=\n;b\r\n" + BODY + b"\r\n0\r\n\r\n"
    ),
    "folded": joined([*USUAL[:2], b" folded", *USUAL[2:]]),
    "folded-length": joined([*USUAL[:3], b"Content-Length:", b" 12"]),
    "bare-line-feeds": joined(USUAL, end=b"\n"),
    "bare-carriage-returns": joined(USUAL, end=b"\r"),
    "head-that-ends-in-line-feeds": b"\r\n".join(USUAL) + b"\n\n" + BODY,
    "line-feed-then-empty-line": b"\r\n".join(USUAL) + b"\n\r\n" + BODY,
    "empty-lines-first": b"\r\n\r\n" + joined(USUAL),
    "empty-lines-between": joined(USUAL) + b"\r\n" + joined(USUAL),
    "nul-in-name": joined([*USUAL, b"Acc\0ept: a"]),
    "nul-in-value": joined([*USUAL, b"Accept: \0"]),
    "nul-in-body": of_length(b'"\0\0\0"'),
    "vertical-tab": joined([*USUAL, b"Accept:\x0ba"]),
    "delete": joined([*USUAL, b"Accept: \x7f"]),
    "latin-1": joined([*USUAL, b"Accept: \xe9"]),
    "many-headers": joined([*USUAL, *[b"Accept: a"] * 200]),
    "huge-header": joined([*USUAL, b"Accept: " + b"a" * 100_000]),
    "huge-length": joined([*USUAL[:3], b"Content-Length: " + b"9" * 5_000]),
    "empty-host": joined([USUAL[0], b"Host:", *USUAL[2:]]),
    "odd-host": joined([USUAL[0], b"Host: a b@[::", *USUAL[2:]]),
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "http-2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "websocket": joined([*USUAL, b"Connection: Upgrade", b"Upgrade: websocket"]),
    "connect": joined([b"CONNECT a:443 HTTP/1.1", *USUAL[1:]]),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_streams(loop: asyncio.AbstractEventLoop, name: str) -> None:
    """Alone, after and before usual requests, at once and byte by byte."""
    usual = joined(TRACED)
    for stream in (HOSTILE[name], usual + HOSTILE[name], HOSTILE[name] + usual):
        agree(loop, [stream])
    agree(loop, [usual, HOSTILE[name], usual])
    if len(HOSTILE[name]) < 1_000:
        agree(loop, [bytes([byte]) for byte in HOSTILE[name] + usual])


def test_usual_streams(loop: asyncio.AbstractEventLoop) -> None:
    """Requests one by one are answered, also if the body comes later; pieces of a head, and what comes ahead of an answer,
    are not."""
    requests = [joined(USUAL), joined(API_SERVERS), of_length(SMUGGLED), joined(TRACED)]
    assert agree(loop, requests) == 4
    end = requests[0].index(b"\r\n\r\n") + 4
    for at in range(1, len(requests[0])):
        pieces = [requests[0][:at], requests[0][at:], *requests[1:]]
        assert agree(loop, pieces) == (4 if at >= end else 0)
    assert agree(loop, [requests[0] * 2]) == 0
    assert agree(loop, [requests[0], requests[0] * 2]) == 1


_LINES = st.one_of(
    st.sampled_from(TRACED + [text for _, text in UNUSUAL.values()]),
    st.sampled_from([b"Content-Length: 012", b"Host:", b"Accept:\x7f", b"Accept: \xff", b"Accept:a:b", b""]),
    st.binary(max_size=12),
)
_TARGETS = st.text(string.ascii_letters + string.digits + "/?&=._-~#%+;:@\\ \t\0", max_size=12)
_FIRST = st.one_of(st.just(USUAL[0]), _TARGETS.map(lambda target: f"POST /{target} HTTP/1.1".encode()))


@st.composite
def _requests(draw: st.DrawFn) -> bytes:
    """Something like a request, mostly with a body as long as it says."""
    body = draw(st.one_of(st.just(BODY), st.just(SMUGGLED), st.binary(max_size=20)))
    length = draw(st.one_of(st.just(len(body)), st.integers(0, 200)))
    lines = [draw(_FIRST), *draw(st.permutations([*USUAL[1:3], b"Content-Length: %d" % length]))]
    for more in draw(st.lists(_LINES, max_size=2)):
        lines.insert(draw(st.integers(0, len(lines))), more)
    return joined(lines, body, draw(st.sampled_from([b"\r\n"] * 8 + [b"\n", b"\r"])))


@st.composite
def _streams(draw: st.DrawFn) -> list[bytes]:
    """Some requests, damaged here and there, in pieces that may end anywhere."""
    requests = draw(st.lists(st.one_of(st.just(joined(TRACED)), _requests()), min_size=1, max_size=3))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(requests) - 1))
        start = draw(st.integers(0, len(requests[at])))
        end = start + draw(st.integers(0, 3))
        damage = draw(
            st.one_of(st.sampled_from([b"\r\n", b"\n", b"\r", b" ", b"\0", b":"]), st.binary(max_size=2))
        )
        requests[at] = requests[at][:start] + damage + requests[at][end:]
    if draw(st.booleans()):
        return requests
    stream = b"".join(requests)
    cuts = sorted(draw(st.lists(st.integers(0, len(stream)), max_size=4)))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@given(pieces=_streams())
@settings(max_examples=300, deadline=None)
def test_random_streams(loop: asyncio.AbstractEventLoop, pieces: list[bytes]) -> None:
    """Whatever is sent: aiohttp finds the same requests where the fast path has answered."""
    agree(loop, pieces)
