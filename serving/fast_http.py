"""The requests that API servers send, answered without the detours of a general HTTP server.

What an API server asks has a plain head and a small body.  Such a request is recognised here and answered at once; with
anything else a connection goes over to the general server (aiohttp) for good.  So nothing has to be understood here, and
no mistake of a client has to be answered, but a review costs a third less.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from email.utils import formatdate
from http import HTTPStatus
from time import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from webhook.service import Reply, Service

MAX_HEAD_BYTES = 4096
# How long a body may be under way before the general server waits for it.
PATIENCE_SECONDS = 1.0
MAX_REMEMBERED = 1000
_END = b"\r\n\r\n"
_NEEDED = frozenset(("host", "content-type", "content-length"))
# They change nothing about the answer. An API server sends the first three, some more when it is told who it is to show
# itself as, or to trace requests.
_HARMLESS = frozenset(
    ("accept", "accept-encoding", "user-agent", "authorization", "traceparent", "tracestate", "baggage")
)
_KEEP = ("connection", "keep-alive")  # says what is so anyway


class Head(NamedTuple):
    """What a plain head says: path and query, and how many bytes follow."""

    path: str
    length: int
    query: str = ""


class DirectConnection(asyncio.Protocol):
    """One connection, as long as its requests are the usual ones."""

    def __init__(
        self, service: Service, general: Callable[[], asyncio.Protocol], *, idle_seconds: float
    ) -> None:
        """
        :param general: makes the protocol that takes over.
        """
        self._service = service
        self._general = general
        self._idle_seconds = idle_seconds
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._used = self._loop.time()
        self._idle: asyncio.TimerHandle | None = None
        self._waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._service.direct.add(self)
        # only now: many a connection ends in its handshake, and none of these is to be remembered
        self._idle = self._loop.call_later(self._idle_seconds, self._end_if_idle)

    def connection_lost(self, error: Exception | None) -> None:
        self._leave()

    def pause_writing(self) -> None:
        """Somebody does not read the answers."""
        handler = self.hand_over()
        if handler is not None:
            handler.pause_writing()

    def data_received(self, data: bytes) -> None:
        self._received = received = self._received + data if self._received else data
        end = received.find(_END, 0, MAX_HEAD_BYTES)
        head = head_of(received[:end]) if end >= 0 else None
        if head is None or not self._service.answers_directly(head, self._transport):
            self.hand_over()
            return
        missing = end + len(_END) + head.length - len(received)
        if missing > 0:
            if self._waiting is None:
                self._waiting = self._loop.call_later(PATIENCE_SECONDS, self.hand_over)
        elif missing < 0:
            self.hand_over()
        else:
            self._answer(head, received[end + len(_END) :])

    def _answer(self, head: Head, body: bytes) -> None:
        reply = self._service.reply(head, body, self._transport)
        if reply is None:
            self.hand_over()
            return
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        self._received = b""
        self._used = self._loop.time()
        assert self._transport is not None
        self._service.open_connections.answered(self._transport)
        self._transport.write(_response(reply))

    def hand_over(self) -> asyncio.Protocol | None:
        """Let the general server go on, with what has been received of a request."""
        transport, received = self._transport, self._received
        if transport is None:
            return None
        self._leave()
        handler = self._general()
        transport.set_protocol(handler)
        handler.connection_made(transport)
        if received:
            handler.data_received(received)
        return handler

    def close(self) -> None:
        """End the connection; a request that is still coming is for the general server."""
        if self._received:
            self.hand_over()
        elif self._transport is not None:
            self._transport.close()

    def _end_if_idle(self) -> None:
        left = self._used + self._idle_seconds - self._loop.time()
        if left > 0:
            self._idle = self._loop.call_later(left, self._end_if_idle)
        else:
            self.close()

    def _leave(self) -> None:
        self._service.direct.discard(self)
        self._transport = None
        self._received = b""
        if self._idle is not None:
            self._idle.cancel()
        if self._waiting is not None:
            self._waiting.cancel()


_heads: dict[bytes, Head] = {}


def head_of(text: bytes) -> Head | None:
    """What the head of a request says, None if it is not quite plain; heads that have been seen are remembered."""
    head = _heads.get(text)
    if head is None:
        head = _read_head(text)
        if head is not None:
            if len(_heads) >= MAX_REMEMBERED:
                _heads.clear()
            _heads[text] = head
    return head


def _read_head(text: bytes) -> Head | None:
    if not text.isascii():
        return None
    first, *lines = text.decode("ascii").split("\r\n")
    if not (first.isprintable() and all(map(str.isprintable, lines))):
        return None
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.lower(), value.strip(" ")
        if (name, value.lower()) == _KEEP:
            continue
        if name in headers or name not in _NEEDED | _HARMLESS:
            return None
        headers[name] = value
    method, _, target = first.partition(" ")
    target, _, version = target.partition(" ")
    length = headers.get("content-length", "")
    if (method, version, headers.get("content-type")) != ("POST", "HTTP/1.1", "application/json"):
        return None
    if not (headers.keys() >= _NEEDED and length.isdigit() and len(length) < 9):
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
    """The time as HTTP writes it."""
    if seconds not in _dates:
        _dates.clear()
        _dates[seconds] = formatdate(seconds, usegmt=True)
    return _dates[seconds]
