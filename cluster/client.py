"""The client of an API server: requests with answers of bounded size, and streams of events."""

from __future__ import annotations

import re
import ssl
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlencode

from urllib3 import BaseHTTPResponse, HTTPHeaderDict, Timeout
from urllib3.exceptions import HTTPError, ProtocolError, SSLError

from cluster.access import Access
from cluster.budget import Budget
from cluster.deadlines import POOLS, deadline
from cluster.failures import reason
from cluster.interruption import Interruption
from resourceapi import deep_json
from resourceapi.api_client import TooLarge, TooMuch, Unavailable, expect
from resourceapi.json_memory import JSONMemory
from resourceapi.json_values import JSONError
from resourceapi.manifests import text
from resourceapi.object_names import is_dots
from resourceapi.shortening import shortened

TIMEOUT = 8.0
# What is read of an answer, or of an event: more than any object has, and little beside what a worker may take, as JSON
# and decoded.
ANSWER_BYTES = 8 * 1024 * 1024
# What an answer may take in memory, as estimated before it is decoded. Dense ones of real servers take twenty times their
# bytes; a list is asked for again in smaller pages then.
ANSWER_MEMORY = 24 * ANSWER_BYTES
READ_BYTES = 64 * 1024
MAX_MESSAGE = 2_000
MAX_NAME = 100
JSON = "application/json"
IDENTITY = "identity"
MERGE_PATCH = "application/merge-patch+json"
# What a header may hold; http.client would quote all of a value with anything else in its error.
_HEADER_VALUE = re.compile(r"[\t -~\xa0-\xff]*")


class Client:
    """Implements :class:`resourceapi.api_client.Api`; for any number of threads, which share connections."""

    def __init__(
        self, access: Access, *, timeout: float = TIMEOUT, accept: str = JSON, budget: Budget | None = None
    ) -> None:
        """Make a client.

        :param timeout: seconds to connect, and until an answer has come whole; where a webhook waits for it, less than the
            API server waits for the webhook.
        :param accept: the media type of answers, a variant of JSON.
        :param budget: what all answers together are charged to; None for no limit.
        """
        self.server = access.server
        self._access = access
        access.pool.pool_classes_by_scheme = POOLS
        self._timeout = timeout
        self._accept = accept
        self._budget = budget

    def accepting(self, media_type: str) -> Client:
        """A client with the same connections that asks for another variant of JSON."""
        return Client(self._access, timeout=self._timeout, accept=media_type, budget=self._budget)

    def waiting(self, seconds: float) -> Client:
        """A client with the same connections that waits so long for an answer."""
        return Client(self._access, timeout=seconds, accept=self._accept, budget=self._budget)

    def within(self, budget: Budget | None) -> Client:
        """A client with the same connections whose answers are charged to this budget; None for no limit."""
        return Client(self._access, timeout=self._timeout, accept=self._accept, budget=budget)

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request and return its HTTP status and JSON body; that of an error has a ``message``.

        A request is sent once more where its connection ends without an answer, so it may arrive twice; with
        resourceVersions the second one is a conflict.

        :raises Unavailable: if there is no answer, or none in JSON; TooLarge if it is larger than :data:`ANSWER_BYTES`, or
            would take more than :data:`ANSWER_MEMORY`; TooMuch if the budget is used up.
        """
        url = f"{path}?{urlencode(query)}" if query else path
        content = None if body is None else deep_json.as_go_writes_it(body).encode()
        media_type = MERGE_PATCH if verb == "PATCH" else JSON
        with _failures(f"{verb} {path}"), deadline(self._timeout):
            response = self._send_again(verb, url, content, media_type, self._accept)
            answer = self._read(response, f"{verb} {path}")
            return response.status, _decoded(response, answer, f"{verb} {path}")

    def exchange(
        self, verb: str, path: str, content: bytes | None, *, media_type: str, accept: str
    ) -> tuple[int, bytes]:
        """Send a request in another format than JSON, or for such an answer; its HTTP status and body.

        :raises Unavailable: as :meth:`request`.
        """
        with _failures(f"{verb} {path}"), deadline(self._timeout):
            response = self._send_again(verb, path, content, media_type, accept)
            return response.status, self._read(response, f"{verb} {path}")

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
        :raises Unavailable: if the server refuses the watch, or the stream breaks off.
        """
        with _failures(f"GET {path}"), closing(self.lines(path, query, timeout, interruption)) as lines:
            for line in lines:
                yield deep_json.loads(line)

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
                    answer = self._read(response, what)
                    expect((response.status, _decoded(response, answer, what)), what, 200)
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

    def _read(self, response: BaseHTTPResponse, what: str) -> bytes:
        """The body of an answer; the connection is free for others then."""
        parts, size = [], 0
        while part := response.read(ANSWER_BYTES + 1 - size):
            parts.append(part)
            size += len(part)
            self._charge(response, part)
            if size > ANSWER_BYTES:
                response.close()  # what is left of the answer is not the next one
                raise TooLarge(f"{what}: the answer has more than {ANSWER_BYTES:,} bytes")
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


def _decoded(response: BaseHTTPResponse, answer: bytes, what: str) -> Any:
    """The JSON in an answer; an error is an object with a message, also where it comes as plain text.

    :raises JSONError: for what should be JSON; Unavailable for what is compressed, TooLarge for what would take too much
        memory.
    """
    if response.headers.get("Content-Encoding", IDENTITY) != IDENTITY:
        raise Unavailable(f"{what}: the answer is compressed, which was not asked for")
    memory = JSONMemory()
    memory.add(answer)
    if memory.bytes > ANSWER_MEMORY:
        raise TooLarge(f"{what}: the answer would take more than {ANSWER_MEMORY:,} bytes of memory")
    try:
        value = deep_json.loads(answer)
    except JSONError:
        if response.status < 400:
            raise
        message = answer.decode("utf-8", "replace").strip()
        value = {"message": "" if message.startswith("<") else shortened(message, MAX_MESSAGE)}
    if response.status >= 300 and not text(value, "message"):
        return {**(value if isinstance(value, dict) else {}), "message": response.reason or ""}
    return value


def _was_dropped(error: ProtocolError | SSLError) -> bool:
    """Whether a connection ended without an answer: most likely the server had closed it while it was idle."""
    return isinstance(error, ProtocolError) or isinstance(error.args[0], ssl.SSLEOFError)
