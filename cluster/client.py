"""The client of an API server: requests with answers of bounded size, and streams of events."""

from __future__ import annotations

import errno
import re
import ssl
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from threading import Event, Lock
from typing import Any, NamedTuple
from urllib.parse import urlencode

from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPHeaderDict, HTTPSConnectionPool, Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationValueError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)

from cluster.access import Access
from cluster.budget import Budget
from resourceapi import deep_json
from resourceapi.api_client import TooLarge, TooMuch, Unavailable, expect
from resourceapi.json_values import JSONError, JSONMemory
from resourceapi.manifests import text
from resourceapi.names import is_dots
from resourceapi.phrases import shortened

# Why there is no answer from a server, in words for people, out of what the libraries raise.

MAX_REASON = 2_000
MAX_HOST = 253


def reason(error: Exception) -> str:
    """What a request failed for, without the wrapping of the libraries."""
    if isinstance(error, ProxyError):
        return f"the proxy does not answer: {_of_proxy(error.original_error)}"
    quotes = isinstance(error, LocationValueError) or not isinstance(error, (HTTPError, OSError, JSONError))
    if quotes:  # its text may quote credentials
        return "the request has an address or a header that cannot be sent"
    return shortened(_known(error) or _as_the_library_says(error), MAX_REASON)


def _of_proxy(error: Exception) -> str:
    """What a proxy failed for: it may have answered that it cannot or may not reach the server."""
    text = str(error)
    return text.removeprefix("Tunnel connection failed: ") if text.startswith("Tunnel ") else reason(error)


def _known(error: Exception) -> str:
    """The reason, where it is one that people meet."""
    if isinstance(error, NameResolutionError):
        return f"the host {shortened(str(getattr(error, '_host', '')), MAX_HOST)} is not known"
    if isinstance(error, ConnectTimeoutError) and not isinstance(error, NewConnectionError):
        return "no connection in time"
    if isinstance(error, ReadTimeoutError):
        return "no complete answer came in time"
    causes = (error, error.__cause__, *error.args)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
            return "it does not speak TLS; is the address one of https?"
    for cause in causes:
        if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and cause.strerror:
            file = f"{cause.filename}: " if isinstance(cause.filename, str) else ""
            return file + cause.strerror.lower()
    return ""


def _as_the_library_says(error: Exception) -> str:
    wrapped = getattr(error, "reason", None)
    lines = str(wrapped if isinstance(wrapped, Exception) else error).strip().splitlines()
    first = lines[0] if lines else type(error).__name__
    if isinstance(error, SSLError) and error.args:
        first = str(error.args[0]).splitlines()[0]
    return first.rpartition("): ")[2] or first


# A time by which an answer must have been read, however slowly it comes: headers, ``100 Continue`` and
# body.

_ends: ContextVar[float | None] = ContextVar("ends", default=None)


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Have the answers of connections of :data:`POOLS` that are asked for within it read in this time, or not at all."""
    token = _ends.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends.reset(token)


class _Timed(RawIOBase):
    """What comes through a socket before a moment; each read waits for no longer."""

    def __init__(self, sock: socket, raw: Any, ends: float) -> None:
        self._sock, self._raw, self._ends = sock, raw, ends

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer takes too long")
        self._sock.settimeout(left)
        read: int | None = self._raw.readinto(buffer)
        return read

    def readall(self) -> bytes:
        """Nothing: whoever reads names a size. ``http.client`` does not for a chunk whose size is below zero."""
        raise OSError(errno.EBADMSG, "a part of the answer has a size below zero")

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket, *arguments: Any, **more: Any) -> None:
        super().__init__(sock, *arguments, **more)
        ends = _ends.get()
        if ends is not None:
            self.fp = BufferedReader(_Timed(sock, self.fp.detach(), ends))


class _Plain(HTTPConnection):
    response_class = _Response


class _Secure(HTTPSConnection):
    response_class = _Response


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


#: The classes of pools by the scheme of a URL, for :class:`urllib3.PoolManager`.
POOLS: dict[str, type[HTTPConnectionPool]] = {"http": _PlainPool, "https": _SecurePool}


# Ending, from another thread, a stream on which a thread waits.


class Interruption:
    """Ends what a thread reads, now or as soon as it begins, until that thread has taken note of it."""

    def __init__(self) -> None:
        self._requested = Event()
        self._end: Callable[[], None] | None = None
        self._lock = Lock()

    def request(self) -> None:
        """End the stream that is being read, or is going to be."""
        with self._lock:
            self._requested.set()
            if self._end is not None:
                with suppress(OSError, RuntimeError, ValueError):  # it has come to its end meanwhile
                    self._end()

    @property
    def is_requested(self) -> bool:
        """Whether the thread is to do something else than to read."""
        return self._requested.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until it is requested, but not longer than so many seconds; whether it is."""
        return self._requested.wait(seconds)

    def note(self) -> None:
        """Note that the thread now does what it was interrupted for."""
        self._requested.clear()

    @contextmanager
    def ends(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` when requested while the block runs; it lets whoever reads come to an end, or fail.

        :raises Unavailable: if it has been requested before.
        """
        with self._lock:
            if self.is_requested:
                raise Unavailable("interrupted")
            self._end = end
        try:
            yield
        finally:
            with self._lock:
                self._end = None


TIMEOUT = 8.0
# What is read of a page of a list: little beside what a worker may take, as JSON and decoded. One that has more is asked
# for again with fewer objects.
PAGE_BYTES = 8 * 1024 * 1024
# What is read of any other answer, or of an event: more than any object has. An API server takes 3 MiB of one, etcd by default
# 1.5 MiB, and as JSON it has up to seven times as much: `<` becomes `\u003c`, and numbers of members become their names.
ANSWER_BYTES = 3 * PAGE_BYTES
# What they may take in memory, as estimated before they are decoded. Dense ones of real servers take twenty times their bytes.
PAGE_MEMORY = 24 * PAGE_BYTES
ANSWER_MEMORY = 2 * PAGE_MEMORY
READ_BYTES = 64 * 1024
MAX_MESSAGE = 2_000
MAX_NAME = 100
JSON = "application/json"
IDENTITY = "identity"
MERGE_PATCH = "application/merge-patch+json"
# What a header may hold; http.client would quote all of a value with anything else in its error.
_HEADER_VALUE = re.compile(r"[\t -~\xa0-\xff]*")


class Most(NamedTuple):
    """What an answer may have, and take in memory, as estimated before it is decoded."""

    bytes: int
    memory: int


class Client:
    """Implements :class:`resourceapi.api_client.Api`; for any number of threads, which share connections."""

    def __init__(
        self,
        access: Access,
        *,
        timeout: float = TIMEOUT,
        accept: str = JSON,
        budget: Budget | None = None,
        most: Most | None = None,
    ) -> None:
        """Make a client.

        :param timeout: seconds to connect, and until an answer has come whole; where a webhook waits for it, less than the
            API server waits for the webhook.
        :param accept: the media type of answers, a variant of JSON.
        :param budget: what all answers together are charged to; None for no limit.
        :param most: what each answer may have; None for as much as any object has.
        """
        self.server = access.server
        self._access = access
        access.pool.pool_classes_by_scheme = POOLS
        self._timeout = timeout
        self._accept = accept
        self._budget = budget
        self._most = most

    def accepting(self, media_type: str) -> Client:
        """A client with the same connections that asks for another variant of JSON."""
        return self._but(accept=media_type)

    def waiting(self, seconds: float) -> Client:
        """A client with the same connections that waits so long for an answer."""
        return self._but(timeout=seconds)

    def within(self, budget: Budget | None) -> Client:
        """A client with the same connections whose answers are charged to this budget; None for no limit."""
        return self._but(budget=budget)

    def taking(self, most: Most) -> Client:
        """A client with the same connections that reads no larger answers."""
        return self._but(most=most)

    def _but(self, **other: Any) -> Client:
        same: dict[str, Any] = {"timeout": self._timeout, "accept": self._accept}
        same |= {"budget": self._budget, "most": self._most}
        return Client(self._access, **(same | other))

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request and return its HTTP status and JSON body; that of an error has a ``message``.

        A request is sent once more where its connection ends without an answer, so it may arrive twice; with
        resourceVersions the second one is a conflict.

        :raises Unavailable: if there is no answer, or none in JSON; TooLarge if it is larger than :data:`ANSWER_BYTES`, or
            would take more than :data:`ANSWER_MEMORY`, or less for a page of a list that can be smaller; TooMuch if the
            budget is used up.
        """
        url = f"{path}?{urlencode(query)}" if query else path
        content = None if body is None else deep_json.as_go_writes_it(body).encode()
        media_type = MERGE_PATCH if verb == "PATCH" else JSON
        with _failures(f"{verb} {path}"), self._waiting(), deadline(self._timeout):
            response = self._send_again(verb, url, content, media_type, self._accept)
            most = self._most or _most_of(query or {})
            answer = self._read(response, f"{verb} {path}", most.bytes)
            return response.status, _decoded(response, answer, f"{verb} {path}", most.memory)

    def exchange(
        self, verb: str, path: str, content: bytes | None, *, media_type: str, accept: str
    ) -> tuple[int, bytes]:
        """Send a request in another format than JSON, or for such an answer; its HTTP status and body.

        :raises Unavailable: as :meth:`request`.
        """
        with _failures(f"{verb} {path}"), self._waiting(), deadline(self._timeout):
            response = self._send_again(verb, path, content, media_type, accept)
            return response.status, self._read(response, f"{verb} {path}", ANSWER_BYTES)

    def events(
        self,
        path: str,
        query: Mapping[str, str],
        timeout: float,
        interruption: Interruption | None = None,
    ) -> Generator[Any, None, None]:
        """The events of a watch as they come, until the server ends it; close the generator to end it earlier.

        :param path: of the collection, from ``/api`` or ``/apis`` on.
        :param query: the parameters of the watch, ``watch=true`` included.
        :param timeout: seconds between events after which the connection counts as dead.
        :param interruption: with which another thread can break off the stream.
        :raises Unavailable: if the server refuses the watch, or the stream breaks off; TooLarge for an event that has more than
            :data:`ANSWER_BYTES`, or would take more than :data:`ANSWER_MEMORY`.
        """
        with _failures(f"GET {path}"), closing(self.lines(path, query, timeout, interruption)) as lines:
            for line in lines:
                yield _decoded_within(ANSWER_MEMORY, line, f"GET {path}: an event")

    def lines(
        self,
        path: str,
        query: Mapping[str, str],
        timeout: float,
        interruption: Interruption | None = None,
    ) -> Generator[bytes, None, None]:
        """The lines of an answer as they come, without empty ones; close the generator to read no further.

        :param timeout: seconds between lines after which the connection counts as dead.
        :raises Unavailable: if the server refuses the request, or the answer breaks off.
        """
        what = f"GET {path}"
        url = f"{path}?{urlencode(query)}" if query else path
        with _failures(what):
            response = self._send("GET", url, None, JSON, self._accept, timeout)
            try:
                if response.status != 200:
                    answer = self._read(response, what, PAGE_BYTES)
                    expect((response.status, _decoded(response, answer, what, PAGE_MEMORY)), what, 200)
                with (interruption or Interruption()).ends(response.shutdown):
                    yield from self._lines(response, what)
            finally:
                response.close()

    def close(self) -> None:
        """Close idle connections; the next request opens another one."""
        self._access.pool.clear()

    def _send_again(
        self, verb: str, url: str, content: bytes | None, media_type: str, accept: str
    ) -> BaseHTTPResponse:
        """Send a request, and once more where its connection ends without an answer."""
        try:
            return self._send(verb, url, content, media_type, accept, self._timeout)
        except (ProtocolError, SSLError) as error:
            if not _was_dropped(error):
                raise
            return self._send(verb, url, content, media_type, accept, self._timeout)

    def _send(
        self, verb: str, url: str, content: bytes | None, media_type: str, accept: str, timeout: float
    ) -> BaseHTTPResponse:
        if any(map(is_dots, url.partition("?")[0].split("/"))):  # the library would ask for another path
            raise Unavailable(f"{verb} {url}: no name is . or ..")
        headers = HTTPHeaderDict({"Accept": accept, "Content-Type": media_type})
        for name, value in self._access.headers():
            if not _HEADER_VALUE.fullmatch(value):
                why = f"the value of the header {shortened(name, MAX_NAME)} has characters that no header can have"
                raise Unavailable(f"{verb} {url}: {why}", reason=why)
            headers.add(name, value)
        return self._access.pool.request(
            verb,
            self.server + url,
            body=content,
            headers=headers,
            timeout=Timeout(connect=timeout, read=timeout),
            retries=False,
            redirect=False,
            preload_content=False,
            decode_content=False,  # nothing compressed is asked for, and a few bytes could become any number
        )

    def _read(self, response: BaseHTTPResponse, what: str, most: int) -> bytes:
        """The body of an answer, of at most so many bytes; the connection is free for others then."""
        parts, size = [], 0
        while part := response.read(most + 1 - size):
            parts.append(part)
            size += len(part)
            self._charge(response, part)
            if size > most:
                response.close()  # what is left of the answer is not the next one
                raise TooLarge(f"{what}: the answer has more than {most:,} bytes")
        response.release_conn()
        return b"".join(parts)

    def _lines(self, response: BaseHTTPResponse, what: str) -> Iterator[bytes]:
        """The lines of a stream as they come."""
        unfinished: list[bytes] = []
        size = 0
        while part := response.read1(READ_BYTES):
            self._charge(response, part)
            first, *more = part.split(b"\n")
            unfinished.append(first)
            size += len(first)
            if more:
                *lines, rest = b"".join(unfinished), *more
                yield from filter(None, lines)
                unfinished, size = [rest], len(rest)
            if size > ANSWER_BYTES:
                raise TooLarge(f"{what}: an event has more than {ANSWER_BYTES:,} bytes")

    def _waiting(self) -> AbstractContextManager[None]:
        return nullcontext() if self._budget is None else self._budget.waiting()

    def _charge(self, response: BaseHTTPResponse, part: bytes) -> None:
        if self._budget is None:
            return
        try:
            self._budget.read(len(part))
        except TooMuch:
            response.close()
            raise


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """Turn whatever the libraries raise into :class:`Unavailable`."""
    try:
        yield
    except (HTTPError, OSError, ValueError) as error:
        why = reason(error)
        raise Unavailable(f"{what}: {why}", reason=why) from None


def _most_of(query: Mapping[str, str]) -> Most:
    """The bounds for the answer to a request: a page of several objects can be asked for again with fewer of them."""
    if int(query.get("limit", 1)) > 1:
        return Most(PAGE_BYTES, PAGE_MEMORY)
    return Most(ANSWER_BYTES, ANSWER_MEMORY)


def _decoded(response: BaseHTTPResponse, answer: bytes, what: str, most: int) -> Any:
    """The JSON in an answer; an error is an object with a message, also where it comes as plain text.

    :raises JSONError: for what should be JSON; Unavailable for what is compressed, TooLarge for what would take too much
        memory.
    """
    if response.headers.get("Content-Encoding", IDENTITY) != IDENTITY:
        raise Unavailable(f"{what}: the answer is compressed, which was not asked for")
    try:
        value = _decoded_within(most, answer, f"{what}: the answer")
    except JSONError:
        if response.status < 400:
            raise
        message = answer.decode("utf-8", "replace").strip()
        value = {"message": "" if message.startswith("<") else message}
    if response.status >= 300:
        message = text(value, "message") or response.reason or ""
        return {**(value if isinstance(value, dict) else {}), "message": shortened(message, MAX_MESSAGE)}
    return value


def _decoded_within(most: int, text: bytes, what: str) -> Any:
    """The value of JSON text.

    :raises JSONError: for what is none; TooLarge for what would take too much memory.
    """
    memory = JSONMemory()
    memory.add(text)
    if memory.bytes > most:
        raise TooLarge(f"{what} would take more than {most:,} bytes of memory")
    return deep_json.loads(text)


def _was_dropped(error: ProtocolError | SSLError) -> bool:
    """Whether a connection ended without an answer: most likely the server had closed it while it was idle."""
    return isinstance(error, ProtocolError) or isinstance(error.args[0], ssl.SSLEOFError)
