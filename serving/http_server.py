"""The general HTTP server (aiohttp), which tells clients nothing about itself, nor what they have sent."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.http import HttpVersion10, HttpVersion11
from aiohttp.http_exceptions import HttpProcessingError

from serving.logs import LogLimit

SPOKEN = web.RequestKey("spoken", bool)
"""Whether the version of HTTP of a request is spoken here."""
VERSIONS = (HttpVersion10, HttpVersion11)
LINGERING_SECONDS = 1.0
# Of the head of a request; API servers send some hundred.
HEAD_BYTES = 32 * 1024


class StreamedResponse(web.StreamResponse):
    """A response without the ``Server`` header that aiohttp adds, which has its version and that of Python."""

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        self.headers.pop("Server", None)


class Response(StreamedResponse, web.Response):
    """The same for an answer that is whole."""

    async def write_eof(self, data: bytes = b"") -> None:
        """Send the body, and forget it: aiohttp keeps a response until the next request of its connection."""
        await super().write_eof(data)
        self._body = None


class _Handler(web.RequestHandler):
    """The protocol of a connection; bytes that are not HTTP are answered without quoting them."""

    __slots__ = ("bytes_left", "first_request", "head_left")
    bytes_left: int
    head_left: int
    first_request: Any

    def data_received(self, data: bytes) -> None:
        """Go on with a request; abort the connection of a client that sends without end.

        aiohttp keeps heads of up to a megabyte, hands bodies on, and drops the extensions of chunks, and what comes after the
        answer.
        """
        self.bytes_left -= len(data)
        if self.bytes_left >= 0:
            was_beyond = self._has_head()
            super().data_received(data)
            is_head = not (was_beyond or self._has_head())
            self.head_left = self.head_left - len(data) if is_head else HEAD_BYTES
        if min(self.bytes_left, self.head_left) < 0 and self.transport is not None:
            self.transport.abort()

    def _has_head(self) -> bool:
        """Whether a request waits whose head has come, or the body of one is still coming."""
        request = self._current_request
        return bool(self._messages) or (request is not None and not request.content.is_eof())

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The response to a request that cannot be parsed or handled; aiohttp's own quotes the request."""
        super().handle_error(request, status, exc, message)  # logs it
        return refusal(status)


class GeneralHTTP:
    """Makes the protocols of connections that aiohttp serves; needs a running loop.

    :param answer: answers a request; its second argument is what :meth:`protocol` was given, for the first request of a
        connection, and None for all others.
    :param idle_seconds: how long a connection may be open without a request.
    :param request_bytes: the most that a client may send from one request to the next.
    """

    def __init__(
        self,
        answer: Callable[[web.BaseRequest, Any], Awaitable[web.StreamResponse]],
        *,
        idle_seconds: float,
        request_bytes: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._answer = answer
        self._idle_seconds = idle_seconds
        self._request_bytes = request_bytes
        self._log = _server_log()
        self._server = web.Server(self._handle, request_factory=self._make_request, handler_cancellation=True)

    def protocol(self, first_request: Any = None) -> asyncio.Protocol:
        """The protocol of a new connection."""
        handler = _Handler(
            self._server,
            loop=self._loop,
            keepalive_timeout=self._idle_seconds,
            access_log=None,  # type: ignore[arg-type]  # which is how to have none
            logger=self._log,
            auto_decompress=False,
            lingering_time=LINGERING_SECONDS,
        )
        # a request that comes before the one before it is answered; API servers send none
        handler._max_msg_queue_size = 1
        handler.bytes_left = self._request_bytes
        handler.head_left = HEAD_BYTES
        handler.first_request = first_request
        return handler

    def connections(self) -> int:
        """How many connections are open."""
        return len(self._server.connections)

    async def shutdown(self, seconds: float) -> None:
        """Close all connections; requests that are being answered may take some seconds more."""
        self._server.pre_shutdown()
        await self._server.shutdown(seconds)

    def _make_request(
        self, message: Any, payload: Any, protocol: Any, writer: Any, task: asyncio.Task[None]
    ) -> web.BaseRequest:
        """A request; one in a version that is not spoken is made one of 1.0, so that its answer is."""
        is_spoken = message.version in VERSIONS  # the parser takes any number
        if not is_spoken:
            message = message._replace(version=HttpVersion10, should_close=True)
        request = web.BaseRequest(message, payload, protocol, writer, task, self._loop)
        request[SPOKEN] = is_spoken
        return request

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        handler = request.protocol
        assert isinstance(handler, _Handler)
        handler.bytes_left = self._request_bytes
        first_request, handler.first_request = handler.first_request, None
        if not request[SPOKEN]:
            return refusal(505)
        return await self._answer(request, first_request)


def refusal(status: int) -> Response:
    """The standard phrase of an HTTP status, and the end of the connection."""
    response = text(status, HTTPStatus(status).phrase.lower())
    response.force_close()
    return response


def text(status: int, content: str, **headers: Any) -> Response:
    """A line of text."""
    return Response(status=status, text=content + "\n", headers=headers)


def _server_log() -> logging.Logger:
    """The logger of aiohttp, which gets one line about what a client does wrong; as asyncio's does."""
    logging.getLogger("asyncio").addFilter(_is_rare)
    logger = logging.getLogger("aiohttp.server")
    logger.addFilter(_in_short)
    return logger


_NO_HTTP = LogLimit()
_ASYNCIO = LogLimit()


def _is_rare(record: logging.LogRecord) -> bool:
    """Leave out most of many warnings that are alike, as about clients that leave before they are answered."""
    if record.levelno != logging.WARNING:
        return True
    left_out = _ASYNCIO.left_out((record.pathname, record.lineno))
    if left_out:
        record.fields = {"left_out": left_out}
    return left_out is not None


def _in_short(record: logging.LogRecord) -> bool:
    """Turn the report about a request that is not HTTP into a warning of one line, and leave out most of many."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        left_out = _NO_HTTP.left_out("")
        if left_out is None:
            return False
        # without what was sent, which comes in quotes, and may be most of a token
        message = " ".join(re.split("[:,]?\\s+b?['\"]", error.message)[0].split())[:200]
        record.fields = {"left_out": left_out} if left_out else {}
        record.msg, record.args, record.exc_info = f"request refused: {message}", (), None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True
