"""A small client of an API server: one request, one answer, connections kept open per thread."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import ssl
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

# Every warning is a header of its own, and there may be hundreds.
http.client._MAXHEADERS = 10_000  # type: ignore[attr-defined]

_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


class Answer(NamedTuple):
    """What the server said: HTTP status, decoded JSON body, texts of the Warning headers in order."""

    code: int
    body: Any
    warnings: list[str]


class Client:
    """Requests to one API server as one user; may be used by many threads at once."""

    def __init__(self, port: int, token: str, certificate: str, timeout: float = 180.0) -> None:
        """`certificate`: the PEM file that the server on 127.0.0.1:`port` is to be recognised by."""
        self.port = port
        self._token = token
        self._tls = ssl.create_default_context(cafile=certificate)
        self._timeout = timeout
        self._local = threading.local()
        self._connections: list[http.client.HTTPSConnection] = []
        self._certificate = certificate

    def with_token(self, token: str) -> Client:
        """A client of the same server that is somebody else."""
        return Client(self.port, token, self._certificate, self._timeout)

    def ask(
        self,
        verb: str,
        path: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        """Send one request: `verb` GET, POST, PUT, PATCH or DELETE, `path` from /api or /apis on.

        `body`: bytes or str go out as they are, None as no body, all else as JSON. A connection that the server has
        closed in the meantime is opened again once. Raises OSError or http.client.HTTPException.
        """
        if query:
            path = f"{path}?{urlencode(query)}"
        if isinstance(body, str):
            body = body.encode()
        elif body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            try:
                return _exchange(connection, verb, path, body, headers)
            except (ConnectionError, ssl.SSLError, http.client.HTTPException):
                connection.close()
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=self._timeout, context=self._tls
        )
        self._local.connection = connection
        self._connections.append(connection)
        return _exchange(connection, verb, path, body, headers)

    def stream(self, path: str, query: Mapping[str, str]) -> Iterator[bytes]:
        """The lines of an answer as they come, such as the events of a watch, until the server ends it."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self._tls)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        with contextlib.closing(connection):
            connection.request("GET", f"{path}?{urlencode(query)}", headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise OSError(f"GET {path}: {response.status} {response.read()!r}")
            yield from response

    def close(self) -> None:
        """Close the connections of all threads; none of them may be asking at the time."""
        for connection in self._connections:
            connection.close()


def _exchange(
    connection: http.client.HTTPSConnection,
    verb: str,
    path: str,
    body: bytes | None,
    headers: Mapping[str, str],
) -> Answer:
    connection.request(verb, path, body, dict(headers))
    response = connection.getresponse()
    content = response.read()
    warnings = [
        re.sub(r"\\(.)", r"\1", text)
        for header in response.headers.get_all("Warning", [])
        for text in _WARNING.findall(_as_utf_8(header))
    ]
    if response.headers.get_content_type() == "application/json":
        return Answer(response.status, json.loads(content), warnings)
    return Answer(response.status, content.decode(errors="replace"), warnings)


def _as_utf_8(header: str) -> str:
    """A header as Go has written it; http.client takes its bytes for Latin-1."""
    return header.encode("latin-1").decode(errors="replace")
