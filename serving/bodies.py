"""Reading the bodies of requests, within limits of size, memory and time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from aiohttp import web

from resourceapi.json_values import JSONMemory
from serving.routes import NAMESPACE_BYTES, HTTPError, Route

JSON = "application/json"
# Decoding may take this many times the memory of the largest body, as far as an estimate from its bytes can tell: the
# densest that API servers send is estimated at twenty times its size, one with longer strings at less than seven times.
MEMORY_PER_BYTE = 7
# A client may send this many times the largest body with a request: chunks need some bytes more than what they hold.
MAX_SENT = 2
# This many of the largest bodies may be held at once, received in part or waiting, of each sort of client.
MAX_HELD = 2


class Limits(NamedTuple):
    """What requests may take.

    ``body_seconds``: until the whole body has arrived.
    ``answer_seconds``: until the answer, if the client does not wait less.
    ``body_bytes``: the largest ``max_bytes`` of any route that may ever be served.
    """

    body_seconds: float
    answer_seconds: float
    body_bytes: int

    @property
    def memory(self) -> int:
        """How many bytes of memory decoding one body may take."""
        return MEMORY_PER_BYTE * self.body_bytes


@dataclass(eq=False, slots=True)
class _Body:
    """A body of which ``size`` bytes have come.

    ``time``: what it has to come; ``gives_way`` once that has been taken from it, for others.
    """

    namespace: str
    time: asyncio.Timeout
    size: int = 0
    gives_way: bool = False


class _Room:
    """The bodies of some clients, from their first byte until they have been worked on.

    A namespace with several bodies leaves as much room as all but one of them take.

    :param most: bytes of all of them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._of: Counter[str] = Counter()  # bytes, by namespace
        self._coming: set[_Body] = set()

    def add(self, body: _Body, more: int) -> None:
        """Count bytes that have come. If they are too many, bodies that are still coming give way, first of who has most.

        :raises HTTPError: if that is this one.
        """
        self._coming.add(body)
        body.size += more
        self._of[body.namespace] += more
        while self._is_full_for(body):
            other = max(self._coming, key=lambda each: self._of[each.namespace])
            if self._of[other.namespace] <= self._of[body.namespace]:
                raise _too_much()
            self.remove(other)
            other.gives_way = True
            if not other.time.expired():
                other.time.reschedule(0)

    def has_come(self, body: _Body) -> None:
        """Note that a body is complete, and does not give way any more."""
        self._coming.discard(body)

    def remove(self, body: _Body) -> None:
        """Forget a body."""
        self._coming.discard(body)
        self._of[body.namespace] -= body.size
        if not self._of[body.namespace]:
            del self._of[body.namespace]
        body.size = 0

    def _is_full_for(self, body: _Body) -> bool:
        left = self._most - self._of.total()
        return left < 0 or self._of[body.namespace] - body.size > left


class Bodies:
    """The bodies that a process holds; those of unknown clients take no room from those of known ones."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._known, self._strangers = (_Room(MAX_HELD * limits.body_bytes) for _ in range(2))

    @asynccontextmanager
    async def received(self, request: web.BaseRequest, route: Route, doubt: str) -> AsyncIterator[bytes]:
        """The body of a request, which is held until the end of the block.

        :param doubt: about the client (see :class:`serving.routes.Caller`).
        :raises HTTPError: if the request is no POST of JSON; if the body is larger than the route takes, has too many
            values, takes too long, or ends early; if too much is being received at once.
        """
        _check_head(request, route.max_bytes)
        room = self._strangers if doubt else self._known
        body = _Body("", asyncio.timeout(self._limits.body_seconds))
        try:
            yield await self._receive(request, route, room, body)
        finally:
            room.remove(body)

    async def _receive(self, request: web.BaseRequest, route: Route, room: _Room, body: _Body) -> bytes:
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        chunks: list[bytes] = []
        memory = JSONMemory()
        looked_at = 0  # for the namespace, which may come late
        try:
            async with body.time:
                while chunk := await request.content.readany():
                    chunks.append(chunk)
                    come = body.size + len(chunk)
                    if looked_at < NAMESPACE_BYTES and come >= 2 * looked_at:
                        room.remove(body)
                        body.namespace = route.namespace(b"".join(chunks))
                        looked_at = come
                    room.add(body, come - body.size)
                    if body.size > route.max_bytes:
                        raise _too_large(route.max_bytes)
                    memory.add(chunk)
                    if memory.bytes > self._limits.memory:
                        raise _too_many(self._limits.memory)
        except TimeoutError:
            if body.gives_way:
                raise _too_much() from None
            raise HTTPError(f"the body took longer than {self._limits.body_seconds:g} s", 408) from None
        except (web.RequestPayloadError, ConnectionError) as error:  # malformed, or the client has gone
            raise HTTPError(f"the body cannot be read: {error}") from None
        room.has_come(body)
        return b"".join(chunks)


def _check_head(request: web.BaseRequest, max_bytes: int) -> None:
    headers = request.headers
    if request.method != "POST":
        raise HTTPError("only POST", 405)
    # `content_type` parses the header; what API servers send needs no parser
    if headers.get("Content-Type") != JSON and request.content_type != JSON:
        raise HTTPError(f"Content-Type must be {JSON}", 415)
    if headers.get("Content-Encoding", "identity") != "identity":
        raise HTTPError("Content-Encoding must be identity", 415)
    if (request.content_length or 0) > max_bytes:
        raise _too_large(max_bytes)


def _too_large(limit: int) -> HTTPError:
    return HTTPError(f"the body is too large: the limit is {limit} bytes", 413)


def _too_many(limit: int) -> HTTPError:
    return HTTPError(f"the body has too many values: it would take more than {limit} bytes of memory", 413)


def _too_much() -> HTTPError:
    return HTTPError("too much is being sent at once", 503)
