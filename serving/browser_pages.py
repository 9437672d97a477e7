"""Pages for browsers: of one person on this machine, over plain HTTP, or of people who sign in, over TLS.

Others reach the port, and so does every page of the web that is open in a browser. So nothing is told without a token: that of the address
that the person on this machine was given, or one that a :data:`Door` takes. The page keeps it where only
pages of this host and port can read it, and sends it in a header. It is no cookie: browsers send those to every port of a host, and with the questions
of other pages. A name that somebody points at 127.0.0.1 (DNS rebinding) is not among the hosts that are answered on this machine, and other
origins may neither ask nor frame a page.
"""

from __future__ import annotations

import asyncio
import gzip
import hmac
import json
import logging
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from aiohttp import web

from resourceapi.json_text import parse
from resourceapi.json_values import JSONError
from resourceapi.logs import LOGGER, log
from serving.bodies import JSON
from serving.connections import Connections
from serving.documents import FOR_THIS_ORIGIN, OTHER_ORIGIN, insist_on_origin
from serving.http_server import GeneralHTTP, Response, StreamedResponse
from serving.listening import most_connections
from serving.pages import Pages, accepted
from serving.routes import HTTPError, json_bytes
from serving.slots import FairSlot, Places

if TYPE_CHECKING:
    from serving.tls import ServerTLS

#: Of the one person on this machine, and of people who sign in: a browser has up to six.
MOST_CONNECTIONS, MOST_OF_PEOPLE = 100, 1_000
IDLE_SECONDS = 60.0
REQUEST_BYTES = 64 * 1024
BODY_SECONDS = 10.0
#: How often it is looked whether something has changed, and how long a stream of changes says nothing.
CHANGE_SECONDS, SILENT_SECONDS = 0.2, 15.0
#: From how many bytes on an answer is compressed.
COMPRESSED_BYTES = 1024
CHANGES = "/api/v1/changes"
#: Questions that are not answered yet, and streams of changes, one for each page that is looked at: of all, and of one person.
#: Their connections are never closed to make room for others; together with those that sign in there are less of them than connections.
MOST_ASKED, MOST_ASKED_BY_ONE = 250, 50
MOST_STREAMS, MOST_STREAMS_OF_ONE = 400, 50
#: How often it is looked whether there is another certificate.
CERTIFICATE_SECONDS = 1.0
PROBED = ("/healthz", "/readyz")
_HEADERS = FOR_THIS_ORIGIN | {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
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


class Rendered(NamedTuple):
    """The bytes of an answer.

    :param compressed: the same by gzip; None if it is short.
    """

    content: bytes
    compressed: bytes | None = None

    @property
    def bytes(self) -> int:
        """How many there are."""
        return len(self.content) + len(self.compressed or b"")


def rendered(text: str) -> Rendered:
    """An answer in JSON, compressed once for all who get it."""
    content = json_bytes(text)
    is_long = len(content) >= COMPRESSED_BYTES
    return Rendered(content, gzip.compress(content, 5, mtime=0) if is_long else None)


Make = Callable[[Query], Rendered]


def _none_kept(path: str, query: Query) -> Rendered | None:
    return None


def _one_lane(path: str) -> str:
    return ""


class Visitor(NamedTuple):
    """What somebody sees.

    :param name: who it is: people take turns.
    :param answers: by path; each makes its answer, or raises :class:`HTTPError`.
    :param version: another one after each change of what is seen; None for who is told of none.
    :param kept: an answer that is there already, by path and question, if there is; at once.
    :param lane_of: the lane of a path, one of a few: answers of one lane are made one after the other, in a thread of its own.
    """

    name: str
    answers: Mapping[str, Make]
    version: Callable[[], int] | None
    kept: Callable[[str, Query], Rendered | None] = _none_kept
    lane_of: Callable[[str], str] = _one_lane


class NotSignedIn(HTTPError):
    """No token, or none that counts.

    :param realm: of which tokens do; empty where nobody can type one.
    """

    def __init__(self, message: str, realm: str = "") -> None:
        super().__init__(message, 401)
        self.realm = realm


Door = Callable[[str], Awaitable[Visitor]]
"""Who has a token, empty for none; raises :class:`NotSignedIn`. Asked for every question, and now and then during a stream."""


class Site(NamedTuple):
    """What there is to see.

    :param files: by path; for everybody.
    :param asked: the paths of all answers.
    :param asked_by_post: those of answers to which questions may be long.
    :param refusal: what somebody is told who may see none of an answer.
    """

    files: Mapping[str, File]
    asked: frozenset[str]
    asked_by_post: frozenset[str]
    refusal: str = ""


class BrowserPages:
    """Answers the requests of browsers.

    :param door: who has which token.
    :param origin: the scheme of addresses.
    :param hosts: the hosts that are answered; None for any.
    """

    def __init__(self, site: Site, door: Door, scheme: str, hosts: frozenset[str] | None = None) -> None:
        self._site = site
        self._door = door
        self._scheme = scheme
        self._hosts = hosts
        self._lanes: dict[str, _Lane] = {}
        self._asked = Places(MOST_ASKED, MOST_ASKED_BY_ONE, "too much is asked at the same time")
        self._streams = Places(MOST_STREAMS, MOST_STREAMS_OF_ONE, "too many pages are open")
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End the threads, and streams of changes."""
        self._closing.set()
        for each in self._lanes.values():
            each.close()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The page, file or answer that a request asks for, or an error."""
        try:
            return await self._answer(request)
        except HTTPError as error:
            said = _Answer(json_bytes(json.dumps({"error": error.message})))
            response = _response(request, said, JSON, error.code)
            if isinstance(error, NotSignedIn) and error.realm:
                response.headers["WWW-Authenticate"] = f'Bearer realm="{error.realm}"'
            return response

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if self._hosts is not None and request.headers.get("Host") not in self._hosts:
            raise HTTPError("this host is not served", 403)
        if request.method not in ("GET", "HEAD", "POST"):
            raise HTTPError("only GET, HEAD and POST", 405)
        if request.path != "/":
            insist_on_origin(request)
        if request.method != "POST" and (file := self._site.files.get(request.path)) is not None:
            return _response(request, _Answer(file.content), file.content_type)
        token = _token(request)
        visitor = await self._door(token)
        if request.path == CHANGES and request.method == "GET":
            return await self._changes(request, token, visitor)
        with self._asked.taken(visitor.name):
            if request.method == "POST":
                return await self._answered(request, token, await self._posted(request))
            if request.path in self._site.asked and request.path not in self._site.asked_by_post:
                return await self._answered(request, token, request.query)
        raise HTTPError("there is nothing here", 404)

    async def _posted(self, request: web.BaseRequest) -> Query:
        """The question in a body."""
        if request.headers.get("Origin") != f"{self._scheme}://{request.headers.get('Host')}":
            raise HTTPError(OTHER_ORIGIN, 403)
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
        given = asked.items() if isinstance(asked, dict) else ()
        return {key: value for key, value in given if isinstance(value, str)}

    async def _answered(self, request: web.BaseRequest, token: str, query: Query) -> Response:
        path = request.path

        async def may_ask() -> Visitor:
            """Who asks, as they are now: their body, or their turn, may have come late."""
            visitor = await self._door(token)
            if path not in visitor.answers:
                raise HTTPError(self._site.refusal, 403)
            return visitor

        visitor = await may_ask()
        found = visitor.kept(path, query)
        if found is None:

            async def begin() -> Callable[[], Rendered]:
                return partial(_made, (await may_ask()).answers[path], query)

            lane = self._lanes.setdefault(visitor.lane_of(path), _Lane())
            found = await lane.made(visitor.name, begin)
        is_compressed = found.compressed is not None and _may_be_compressed(request)
        content = found.compressed if is_compressed and found.compressed is not None else found.content
        return _response(request, _Answer(content, is_compressed), JSON)

    async def _changes(self, request: web.BaseRequest, token: str, visitor: Visitor) -> web.StreamResponse:
        """A stream of the versions to come; it ends with the connection, or when the token no longer counts."""
        if visitor.version is None:
            raise HTTPError(self._site.refusal, 403)
        with self._streams.taken(visitor.name):
            return await self._told(request, token, visitor.version)

    async def _told(
        self, request: web.BaseRequest, token: str, seen: Callable[[], int] | None
    ) -> web.StreamResponse:
        assert seen is not None
        stream = StreamedResponse(headers=_HEADERS | {"Content-Type": "text/event-stream"})
        known, silent = seen(), 0.0
        with suppress(ConnectionError, HTTPError):  # whoever asks may leave at any time
            await stream.prepare(request)
            await stream.write(b": changes are told here\n\n")
            while not self._closing.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), CHANGE_SECONDS)
                silent += CHANGE_SECONDS
                seen = (await self._door(token)).version
                if seen is None:
                    break
                if (version := seen()) != known:
                    known, silent = version, 0.0
                    await stream.write(f'data: {{"version": {version}}}\n\n'.encode())
                elif silent >= SILENT_SECONDS:  # whoever has left is noticed only so
                    silent = 0.0
                    await stream.write(b":\n\n")
        return stream


def _token(request: web.BaseRequest) -> str:
    """The bearer token of a request; empty for none."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


class _Answer(NamedTuple):
    """The bytes of an answer, and whether they are compressed."""

    content: bytes
    is_compressed: bool = False


def _may_be_compressed(request: web.BaseRequest) -> bool:
    return "gzip" in request.headers.get("Accept-Encoding", "")


def _made(make: Make, query: Query) -> Rendered:
    """An answer, or an error that says nothing about the inside."""
    try:
        return make(query)
    except HTTPError:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, others get their answers
        LOGGER.exception("no answer")
        raise HTTPError("internal error", 500) from None


class _Lane:
    """A thread that makes one answer after the other; people take turns."""

    def __init__(self) -> None:
        self._turns = FairSlot(1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="answers")

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def made(self, name: str, begin: Callable[[], Awaitable[Callable[[], Rendered]]]) -> Rendered:
        """The answer for somebody, once it is their turn; it is not begun for who has gone.

        :param begin: what makes it, asked for then.
        """
        await self._turns.acquire(name)
        try:
            make = await begin()
        except BaseException:
            self._turns.release(name)
            raise
        loop = asyncio.get_running_loop()
        try:
            future = self._thread.submit(make)
        except RuntimeError:  # it has just been closed
            raise HTTPError("the page ends", 503) from None

        def ended(_: object) -> None:
            with suppress(RuntimeError):  # there is no loop at the very end
                loop.call_soon_threadsafe(self._turns.release, name)

        future.add_done_callback(ended)  # also if who asked does not wait for it
        return await asyncio.wrap_future(future)


def _response(request: web.BaseRequest, answer: _Answer, content_type: str, status: int = 200) -> Response:
    headers = _HEADERS | {"Content-Type": content_type, "Vary": "Accept-Encoding"}
    if answer.is_compressed:
        headers["Content-Encoding"] = "gzip"
    return Response(status=status, body=answer.content, headers=headers)


@asynccontextmanager
async def browser_served(listener: socket.socket, site: Site, visitor: Visitor) -> AsyncIterator[str]:
    """Show a site to one person in the block, in the event loop that it is in; yields the address, with a new token.

    :param listener: from :func:`serving.listening.listen`, on a loopback address; closed in the end.
    """
    host, port = listener.getsockname()[:2]
    token = secrets.token_urlsafe(32)

    async def door(given: str) -> Visitor:
        if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode()):
            raise NotSignedIn(_NO_TOKEN)
        return visitor

    hosts = frozenset(f"{each}:{port}" for each in ("127.0.0.1", "localhost", "[::1]"))
    pages = BrowserPages(site, door, "http", hosts)
    async with _served(listener, pages, MOST_CONNECTIONS):
        yield f"{_address('http', host, port)}#token={token}"


@asynccontextmanager
async def people_served(
    listener: socket.socket, site: Site, door: Door, tls: ServerTLS, is_ready: Callable[[], bool]
) -> AsyncIterator[str]:
    """Show a site over TLS to people who sign in, in the block; yields the address.

    :param listener: from :func:`serving.listening.listen`; closed in the end.
    :param tls: whose files may change meanwhile.
    :param is_ready: what ``/readyz`` tells; ``/healthz`` tells that the process answers.
    """
    host, port = listener.getsockname()[:2]
    following = asyncio.create_task(_follow(tls))
    try:
        pages = BrowserPages(site, door, "https")
        async with _served(listener, pages, MOST_OF_PEOPLE, tls, Pages({"ready": is_ready})):
            yield _address("https", host, port)
    finally:
        following.cancel()


def _address(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"


async def _follow(tls: ServerTLS) -> None:
    """Take over a certificate that is replaced."""
    from serving.tls import CertificateError  # which brings cryptography

    while True:
        await asyncio.sleep(CERTIFICATE_SECONDS)
        try:
            if await asyncio.to_thread(tls.refresh):
                log(logging.INFO, "certificate replaced")
        except CertificateError as error:
            log(logging.ERROR, "certificate not replaced", reason=str(error))


@asynccontextmanager
async def _served(
    listener: socket.socket,
    pages: BrowserPages,
    most: int,
    tls: ServerTLS | None = None,
    health: Pages | None = None,
) -> AsyncIterator[None]:
    connections = Connections(most_connections(most), idle_seconds=IDLE_SECONDS)

    async def answer(request: web.BaseRequest, _: object) -> web.StreamResponse:
        connections.works(request.transport)
        try:
            is_of_health = health is not None and request.path in PROBED
            response = await (health if is_of_health and health is not None else pages).answer(request)
        except BaseException:
            connections.answered(request.transport)
            raise
        body = response.body if isinstance(response, Response) else None
        connections.answered(request.transport, len(body) if isinstance(body, bytes) else 0)
        return response

    general = GeneralHTTP(answer, idle_seconds=IDLE_SECONDS, request_bytes=REQUEST_BYTES)
    async with accepted(listener, general, connections, tls):
        try:
            yield
        finally:
            pages.close()
