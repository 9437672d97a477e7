"""Documents for whoever reaches a port on loopback: on this machine, or by `kubectl port-forward`, which RBAC grants.

They may say what not everybody is to know. So no page of the web that is open in the browser of such a person gets them: a name that somebody
points at 127.0.0.1 (DNS rebinding) is not among the hosts that are answered, and other origins may neither ask nor frame a document. At
which port a browser asks is not known here: `kubectl port-forward` takes any.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email.utils import formatdate
from http import HTTPStatus
from typing import NamedTuple

from aiohttp import web

from serving.connections import Connections
from serving.http_server import GeneralHTTP, Response, text
from serving.pages import accepted
from serving.routes import HTTPError

MOST_CONNECTIONS = 100
IDLE_SECONDS = 60.0
REQUEST_BYTES = 64 * 1024
_HOSTS = frozenset(("127.0.0.1", "localhost", "[::1]"))
#: With what a browser keeps what is shown from pages of other origins, and from what it remembers.
FOR_THIS_ORIGIN = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
OTHER_ORIGIN = "only pages of this origin may ask"
#: As in the pages of `-o html`, which have their styles in them, and nothing that runs.
_HEADERS = FOR_THIS_ORIGIN | {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Vary": "Accept",
}


class Document(NamedTuple):
    """What is shown.

    :param made: when, in seconds since 1970.
    """

    content_type: str
    content: bytes
    made: float


Find = Callable[[str, bool], Document]
"""Finds the document at a path, for a browser or for a program; raises :class:`HTTPError` if there is none."""


@asynccontextmanager
async def documents_served(listener: socket.socket, find: Find) -> AsyncIterator[None]:
    """Show documents in the block, in the event loop that it is in.

    :param listener: from :func:`serving.listening.listen`, on a loopback address; closed in the end.
    """
    connections = Connections(MOST_CONNECTIONS, idle_seconds=IDLE_SECONDS)

    async def answer(request: web.BaseRequest, _: object) -> web.StreamResponse:
        try:
            found = _found(request, find)
        except HTTPError as error:
            connections.answered(request.transport)
            return text(error.code, error.message, **_HEADERS)
        connections.answered(request.transport, len(found.content))
        made = formatdate(found.made, usegmt=True)
        return Response(
            body=found.content,
            headers=_HEADERS | {"Content-Type": found.content_type, "Last-Modified": made},
        )

    general = GeneralHTTP(answer, idle_seconds=IDLE_SECONDS, request_bytes=REQUEST_BYTES)
    async with accepted(listener, general, connections):
        yield


def insist_on_origin(request: web.BaseRequest) -> None:
    """Answer no page of another origin, as far as the browser says that one asks.

    :raises HTTPError: for such a page.
    """
    if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        raise HTTPError(OTHER_ORIGIN, HTTPStatus.FORBIDDEN)


def _found(request: web.BaseRequest, find: Find) -> Document:
    host = request.headers.get("Host", "")
    if (host.rpartition(":")[0] if host[-1:].isdigit() and ":" in host else host) not in _HOSTS:
        raise HTTPError("this host is not served", HTTPStatus.FORBIDDEN)
    insist_on_origin(request)
    if request.method not in ("GET", "HEAD"):
        raise HTTPError("only GET and HEAD", HTTPStatus.METHOD_NOT_ALLOWED)
    return find(request.path, "text/html" in request.headers.get("Accept", ""))
