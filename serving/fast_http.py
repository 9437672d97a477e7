"""A fast path for the requests that API servers send, without the detours of a general HTTP server.

An API server sends a plain head and a small body.  Such a request is recognized here and answered at once; for anything
else the general server (aiohttp) takes over the connection, with all that has been received, and keeps it.  So nothing has
to be understood here, and no mistake of a client has to be answered.  ADR 0009 says what that saves.
"""

from __future__ import annotations

import asyncio
import re
from email.utils import formatdate
from http import HTTPStatus
from time import time
from typing import NamedTuple, Protocol

from serving.dispatch import Reply, Unfinished

MAX_HEAD_BYTES = 4096
# How long to wait for the rest of a body before the general server does.
BODY_SECONDS = 1.0
MAX_CACHED_HEADS = 1000
_END = b"\r\n\r\n"
_PLAIN_TARGET = re.compile(r"/[A-Za-z0-9/_-]*(?:\?[A-Za-z0-9=&._-]*)?")
_REQUIRED = frozenset(("host", "content-type", "content-length"))
# They change nothing about the answer. An API server sends the first three, and some more when it has to authenticate, or
# to trace requests.
_IGNORED = frozenset(
    ("accept", "accept-encoding", "user-agent", "authorization", "traceparent", "tracestate", "baggage")
)
_KEEP_ALIVE = ("connection", "keep-alive")  # the default of HTTP/1.1


class Head(NamedTuple):
    """A plain head: path, length of the body in bytes, and query."""

    path: str
    length: int
    query: str = ""


class FastServer(Protocol):
    """The server of fast connections."""

    fast_connections: set[FastConnection]

    def takes_fast_path(self, head: Head, transport: asyncio.Transport) -> bool:
        """Whether a request may be answered here."""

    def answer_fast(self, head: Head, body: bytes, transport: asyncio.Transport) -> Reply | Unfinished:
        """Answer a request; if it cannot be answered at once, the general server has to go on with it."""

    def general_protocol(self, unfinished: Unfinished | None = None) -> asyncio.Protocol:
        """The general server's protocol, which goes on with a request that was begun here."""


class FastConnection(asyncio.Protocol):
    """A connection, as long as its requests take the fast path."""

    def __init__(self, server: FastServer, *, idle_seconds: float) -> None:
        self._server = server
        self._idle_seconds = idle_seconds
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._last_used = self._loop.time()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; only now is the connection remembered, as many end in their handshakes."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.fast_connections.add(self)
        self._idle_timer = self._loop.call_later(self._idle_seconds, self._close_if_idle)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the connection."""
        self._leave()

    def pause_writing(self) -> None:
        """Leave clients that do not read their answers to the general server."""
        handler = self.hand_over()
        if handler is not None:
            handler.pause_writing()

    def data_received(self, data: bytes) -> None:
        """Answer a request that is complete, wait for one that is not, and hand over any other."""
        assert self._transport is not None
        self._received = received = self._received + data if self._received else data
        end = received.find(_END, 0, MAX_HEAD_BYTES)
        head = read_head(received[:end]) if end >= 0 else None
        if head is None or not self._server.takes_fast_path(head, self._transport):
            self.hand_over()
            return
        missing = end + len(_END) + head.length - len(received)
        if missing > 0:
            if self._body_timer is None:
                self._body_timer = self._loop.call_later(BODY_SECONDS, self.hand_over)
        elif missing < 0:
            self.hand_over()
        else:
            self._answer(head, received[end + len(_END) :], self._transport)

    def _answer(self, head: Head, body: bytes, transport: asyncio.Transport) -> None:
        outcome = self._server.answer_fast(head, body, transport)
        if isinstance(outcome, Unfinished):
            self.hand_over(outcome)
            return
        if self._body_timer is not None:
            self._body_timer.cancel()
            self._body_timer = None
        self._received = b""
        self._last_used = self._loop.time()
        transport.write(_response(outcome))

    def hand_over(self, unfinished: Unfinished | None = None) -> asyncio.Protocol | None:
        """Let the general server go on, with what has been received of a request; return its protocol.

        :param unfinished: the request, as far as it has been handled.
        """
        transport, received = self._transport, self._received
        if transport is None:
            return None
        self._leave()
        handler = self._server.general_protocol(unfinished)
        transport.set_protocol(handler)
        handler.connection_made(transport)
        if received:
            handler.data_received(received)
        return handler

    def close(self) -> None:
        """Close the connection; a request that is still coming is for the general server."""
        if self._received:
            self.hand_over()
        elif self._transport is not None:
            self._transport.close()

    def _close_if_idle(self) -> None:
        seconds_left = self._last_used + self._idle_seconds - self._loop.time()
        if seconds_left > 0:
            self._idle_timer = self._loop.call_later(seconds_left, self._close_if_idle)
        else:
            self.close()

    def _leave(self) -> None:
        self._server.fast_connections.discard(self)
        self._transport = None
        self._received = b""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._body_timer is not None:
            self._body_timer.cancel()


_heads: dict[bytes, Head] = {}


def read_head(head_bytes: bytes) -> Head | None:
    """Read the head of a request, without the empty line at its end; None if it is not quite plain."""
    head = _heads.get(head_bytes)
    if head is None:
        head = _parse_head(head_bytes)
        if head is not None:
            if len(_heads) >= MAX_CACHED_HEADS:
                _heads.clear()
            _heads[head_bytes] = head
    return head


def _parse_head(text: bytes) -> Head | None:
    if not text.isascii():
        return None
    first, *lines = text.decode("ascii").split("\r\n")
    if not (first.isprintable() and all(map(str.isprintable, lines))):
        return None
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name, value = name.lower(), value.strip(" ")
        if (name, value.lower()) == _KEEP_ALIVE:
            continue
        if not colon or name in headers or name not in _REQUIRED | _IGNORED:
            return None
        headers[name] = value
    method, _, target = first.partition(" ")
    target, _, version = target.partition(" ")
    length = headers.get("content-length", "")
    if (method, version, headers.get("content-type")) != ("POST", "HTTP/1.1", "application/json"):
        return None
    if not (headers.keys() >= _REQUIRED and length.isdigit() and len(length) < 9):
        return None
    if not _PLAIN_TARGET.fullmatch(target):  # nothing that would have to be unquoted
        return None
    path, _, query = target.partition("?")
    return Head(path, int(length), query)


_REASONS = {status.value: status.phrase for status in HTTPStatus}


def _response(reply: Reply) -> bytes:
    head = (
        f"HTTP/1.1 {reply.code} {_REASONS[reply.code]}\r\nContent-Type: {reply.content_type}\r\n"
        f"Content-Length: {len(reply.body)}\r\nDate: {_date(int(time()))}\r\n\r\n"
    )
    return head.encode("ascii") + reply.body


_dates: dict[int, str] = {}


def _date(seconds: int) -> str:
    """A time in the format of HTTP, from seconds since the epoch."""
    if seconds not in _dates:
        _dates.clear()
        _dates[seconds] = formatdate(seconds, usegmt=True)
    return _dates[seconds]
