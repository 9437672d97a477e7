"""The general HTTP server (aiohttp), which tells clients nothing about itself, nor what they have sent."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.http import HttpVersion10, HttpVersion11

SPOKEN = (HttpVersion10, HttpVersion11)


class Response(web.Response):
    """A response without a ``Server`` header.

    aiohttp adds its name and version, and those of Python, with no way to say no; here is the one place that knows where.
    """

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        self.headers.pop("Server", None)


class Handler(web.RequestHandler):
    """The protocol of a connection; what is no HTTP is answered in words of our own."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a request that cannot be read, or could not be handled; aiohttp's own quotes the request."""
        super().handle_error(request, status, exc, message)  # which logs it
        return refusal(status)


def in_spoken_version(message: Any) -> tuple[Any, bool]:
    """The head of a request, and whether it is in a version of HTTP that is spoken here: the parser takes any number.

    If not, it is made one of 1.0, so that the answer is one.
    """
    if message.version in SPOKEN:
        return message, True
    return message._replace(version=HttpVersion10, should_close=True), False


def refusal(status: int) -> Response:
    """What an HTTP status says by itself, and the end of the connection."""
    response = text(status, HTTPStatus(status).phrase.lower())
    response.force_close()
    return response


def text(status: int, content: str, **headers: Any) -> Response:
    """A line of text."""
    return Response(status=status, text=content + "\n", headers=headers)
