"""Reading the bodies of requests, within limits of size, memory and time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from aiohttp import web

from resourceapi.json_values import JSONMemory
from serving.routes import HTTPError

JSON = "application/json"
# Decoding may take this many times the memory of the largest body, as far as an estimate from its bytes can tell: the
# densest that API servers send is estimated at twenty times its size, one with longer strings at less than seven times.
MEMORY_PER_BYTE = 7
# A client may send this many times the largest body with a request: chunks need some bytes more than what they hold.
MAX_SENT = 2
# This many of the largest bodies may be held at once, received in part or waiting.
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


class Bodies:
    """The bodies that a process holds."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held = 0  # bytes

    @contextmanager
    def held(self, body: bytes) -> Iterator[None]:
        """Count a body as held while it is worked on."""
        self._held += len(body)
        try:
            yield
        finally:
            self._held -= len(body)

    async def read(self, request: web.BaseRequest, max_bytes: int) -> bytes:
        """The body of a request.

        :raises HTTPError: if the request is no POST of JSON; if the body is larger than ``max_bytes``, has too many
            values, takes too long, or ends early; if too much is being received at once.
        """
        _check_head(request, max_bytes)
        body = self._arrived(request, max_bytes)
        return await self._receive(request, max_bytes) if body is None else body

    def _arrived(self, request: web.BaseRequest, max_bytes: int) -> bytes | None:
        """The body if it has come with the head, as small ones do; None otherwise."""
        content = request.content
        if not content.is_eof() or content.exception() is not None:
            return None
        body = content.read_nowait()
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
        needed = JSONMemory()
        needed.add(body)
        if needed.bytes > self._limits.memory:
            raise _too_many(self._limits.memory)
        return body

    async def _receive(self, request: web.BaseRequest, max_bytes: int) -> bytes:
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        chunks: list[bytes] = []
        size = 0
        memory = JSONMemory()
        seconds = self._limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                while chunk := await request.content.readany():
                    size += len(chunk)
                    self._held += len(chunk)
                    if size > max_bytes:
                        raise _too_large(max_bytes)
                    memory.add(chunk)
                    if memory.bytes > self._limits.memory:
                        raise _too_many(self._limits.memory)
                    if self._held > MAX_HELD * self._limits.body_bytes:
                        raise HTTPError("too much is being sent at once", 503)
                    chunks.append(chunk)
        except TimeoutError:
            raise HTTPError(f"the body took longer than {seconds:g} s", 408) from None
        except (web.RequestPayloadError, ConnectionError) as error:  # malformed, or the client has gone
            raise HTTPError(f"the body cannot be read: {error}") from None
        finally:
            self._held -= size
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
