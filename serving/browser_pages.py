"""Pages for the browser of one person on this machine, over plain HTTP.

Everybody on the machine reaches the port, and so does every page of the web that is open in the browser. So nothing is told without
the token of the address that this person was given. It stands behind the `#`, which no browser sends; the page keeps it where only
pages of this host and port can read it, and sends it in a header. It is no cookie: browsers send those to every port of a host. A name that somebody
points at 127.0.0.1 (DNS rebinding) is not among the hosts that are answered, and other origins may neither ask nor frame a page.
"""

from __future__ import annotations

import asyncio
import gzip
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from aiohttp import web

from resourceapi.json_text import parse
from resourceapi.json_values import JSONError
from resourceapi.logs import LOGGER
from serving.bodies import JSON
from serving.connections import Connections
from serving.http_server import GeneralHTTP, Response, StreamedResponse
from serving.pages import plain_connections
from serving.routes import HTTPError, json_bytes

MOST_CONNECTIONS = 100
IDLE_SECONDS = 60.0
REQUEST_BYTES = 64 * 1024
BODY_SECONDS = 10.0
#: How often it is looked whether something has changed, and how long a stream of changes says nothing.
CHANGE_SECONDS, SILENT_SECONDS = 0.2, 15.0
#: From how many bytes on an answer is compressed.
COMPRESSED_BYTES = 1024
CHANGES = "/api/v1/changes"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_NO_TOKEN = (
    "open the address that `claimcheck ui` has printed: it has the token without which nothing is shown"
)

Query = Mapping[str, str]
"""What is asked: the parameters of an address, or the members of a JSON body that are strings."""


class File(NamedTuple):
    """What is at a path, for everybody: its content type, and its bytes."""

    content_type: str
    content: bytes


class Site(NamedTuple):
    """What a person can look at.

    :param files: by path.
    :param answers: by path; each makes the JSON text of its answer, one after the other in one thread, or raises :class:`HTTPError`.
    :param asked_by_post: the paths of answers to which questions may be long.
    :param version: grows with each change of what is shown.
    """

    files: Mapping[str, File]
    answers: Mapping[str, Callable[[Query], str]]
    asked_by_post: frozenset[str]
    version: Callable[[], int]


class BrowserPages:
    """Answers the requests of a browser.

    :param port: at which it listens on loopback.
    :param token: what the address has that the person was told.
    """

    def __init__(self, site: Site, port: int, token: str) -> None:
        self._site = site
        self._authorization = f"Bearer {token}".encode()
        self._hosts = frozenset(f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]"))
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="answers")
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End the thread, and streams of changes."""
        self._closing.set()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The page, file or answer that a request asks for, or an error."""
        try:
            return await self._answer(request)
        except HTTPError as error:
            return _response(
                request, _Answer(json_bytes(json.dumps({"error": error.message}))), JSON, error.code
            )

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Host") not in self._hosts:
            raise HTTPError("this host is not served", 403)
        if request.method not in ("GET", "HEAD", "POST"):
            raise HTTPError("only GET, HEAD and POST", 405)
        if (
            request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
            and request.path != "/"
        ):
            raise HTTPError("only pages of this origin may ask", 403)
        if request.method != "POST" and (file := self._site.files.get(request.path)) is not None:
            return _response(request, _Answer(file.content), file.content_type)
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._authorization):
            raise HTTPError(_NO_TOKEN, 403)
        if request.path == CHANGES and request.method == "GET":
            return await self._changes(request)
        if request.method == "POST":
            return await self._posted(request)
        if request.path in self._site.answers and request.path not in self._site.asked_by_post:
            return await self._answered(request, request.query)
        raise HTTPError("there is nothing here", 404)

    async def _posted(self, request: web.BaseRequest) -> Response:
        if request.headers.get("Origin") != f"http://{request.headers['Host']}":
            raise HTTPError("only pages of this origin may ask", 403)
        if request.path not in self._site.asked_by_post:
            raise HTTPError("there is nothing to send here", 405)
        if request.content_type != JSON:
            raise HTTPError(f"the body has to be {JSON}", 415)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                asked = parse(await request.read())
        except TimeoutError:
            raise HTTPError("the body did not come in time", 408) from None
        except JSONError as error:
            raise HTTPError(f"the body is not JSON: {error}") from None
        query = asked if isinstance(asked, dict) else {}
        return await self._answered(
            request, {key: value for key, value in query.items() if isinstance(value, str)}
        )

    async def _answered(self, request: web.BaseRequest, query: Query) -> Response:
        made = await asyncio.get_running_loop().run_in_executor(
            self._thread, _made, self._site.answers[request.path], query, _may_be_compressed(request)
        )
        return _response(request, made, JSON)

    async def _changes(self, request: web.BaseRequest) -> web.StreamResponse:
        """A stream of the versions to come; it ends with the connection."""
        stream = StreamedResponse(headers=_HEADERS | {"Content-Type": "text/event-stream"})
        known, silent = self._site.version(), 0.0
        with suppress(ConnectionError):  # whoever asks may leave at any time
            await stream.prepare(request)
            await stream.write(b": changes are told here\n\n")
            while not self._closing.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), CHANGE_SECONDS)
                silent += CHANGE_SECONDS
                if (version := self._site.version()) != known:
                    known, silent = version, 0.0
                    await stream.write(f'data: {{"version": {version}}}\n\n'.encode())
                elif silent >= SILENT_SECONDS:  # whoever has left is noticed only so
                    silent = 0.0
                    await stream.write(b":\n\n")
        return stream


class _Answer(NamedTuple):
    """The bytes of an answer, and whether they are compressed."""

    content: bytes
    is_compressed: bool = False


def _may_be_compressed(request: web.BaseRequest) -> bool:
    return "gzip" in request.headers.get("Accept-Encoding", "")


def _made(make: Callable[[Query], str], query: Query, compressed: bool) -> _Answer:
    """An answer, or an error that says nothing about the inside."""
    try:
        content = json_bytes(make(query))
    except HTTPError:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, others get their answers
        LOGGER.exception("no answer")
        raise HTTPError("internal error", 500) from None
    if compressed and len(content) >= COMPRESSED_BYTES:
        return _Answer(gzip.compress(content, 5, mtime=0), is_compressed=True)
    return _Answer(content)


def _response(request: web.BaseRequest, answer: _Answer, content_type: str, status: int = 200) -> Response:
    headers = _HEADERS | {"Content-Type": content_type, "Vary": "Accept-Encoding"}
    if answer.is_compressed:
        headers["Content-Encoding"] = "gzip"
    return Response(status=status, body=answer.content, headers=headers)


@asynccontextmanager
async def browser_served(listener: socket.socket, site: Site) -> AsyncIterator[str]:
    """Show a site in the block, in the event loop that it is in; yields the address, with a new token.

    :param listener: from :func:`serving.listening.listen`, on a loopback address; closed in the end.
    """
    host, port = listener.getsockname()[:2]
    token = secrets.token_urlsafe(32)
    pages = BrowserPages(site, port, token)
    connections = Connections(MOST_CONNECTIONS, idle_seconds=IDLE_SECONDS)

    async def answer(request: web.BaseRequest, _: object) -> web.StreamResponse:
        connections.works(request.transport)
        try:
            response = await pages.answer(request)
        except BaseException:
            connections.answered(request.transport)
            raise
        body = response.body if isinstance(response, Response) else None
        connections.answered(request.transport, len(body) if isinstance(body, bytes) else 0)
        return response

    general = GeneralHTTP(answer, idle_seconds=IDLE_SECONDS, request_bytes=REQUEST_BYTES)
    async with plain_connections(listener, general, connections):
        try:
            yield f"http://{f'[{host}]' if ':' in host else host}:{port}/#token={token}"
        finally:
            pages.close()
