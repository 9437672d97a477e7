"""A client of the API server for the service itself: one request, one answer, a connection per thread."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from cluster.tls import client_context
from quota.api import TooLarge, Unavailable

TIMEOUT = 8.0
# Of an answer so much is read: more than any object has, and little beside what a worker may take, as JSON and decoded.
ANSWER_BYTES = 8 * 1024 * 1024


class ApiServer:
    """Implements :class:`quota.api.Api`.  The token is read anew for every request, since kubelet renews it."""

    def __init__(self, server: str, *, token_file: Path, ca_file: Path, timeout: float = TIMEOUT) -> None:
        """
        :param server: ``https://host[:port]``.
        :param timeout: seconds for an answer; less than the API server waits for a webhook.
        :raises OSError: (or ssl.SSLError) if the CA certificates cannot be read.
        """
        self._address = urlsplit(server)
        self._token_file = token_file
        self._tls = client_context(ca_file)
        self._timeout = timeout
        self._local = threading.local()

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request and return its HTTP status and JSON body.

        A connection that the server has closed in the meantime is opened again once, so that a request may arrive
        twice; with resourceVersions the second one is a conflict.

        :raises Unavailable: if there is no answer, or none in JSON; TooLarge if it is larger than :data:`ANSWER_BYTES`.
        """
        url = f"{path}?{urlencode(query)}" if query else path
        content = None if body is None else json.dumps(body).encode()
        try:
            headers = {
                "Authorization": f"Bearer {self._token_file.read_text('utf-8').strip()}",
                "Accept": "application/json",
                "Content-Type": "application/json",
            }
            code, answer = self._exchange(verb, url, content, headers)
            return code, _decoded(code, answer)
        except TooLarge:
            self._drop()  # what is left of the answer is not the next one
            raise TooLarge(f"{verb} {path}: the answer has more than {ANSWER_BYTES:,} bytes") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._drop()
            raise Unavailable(f"{verb} {path}: {str(error) or type(error).__name__}") from None

    def _exchange(
        self, verb: str, url: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        reused = getattr(self._local, "connection", None) is not None
        try:
            return self._send(verb, url, content, headers)
        except (ConnectionError, http.client.BadStatusLine, ssl.SSLEOFError):
            if not reused:
                raise
            self._drop()
            return self._send(verb, url, content, headers)

    def _send(self, verb: str, url: str, content: bytes | None, headers: dict[str, str]) -> tuple[int, bytes]:
        connection: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = http.client.HTTPSConnection(
                self._address.hostname or "", self._address.port, timeout=self._timeout, context=self._tls
            )
        connection.request(verb, url, content, headers)
        response = connection.getresponse()
        answer = response.read(ANSWER_BYTES + 1)
        if len(answer) > ANSWER_BYTES:
            raise TooLarge
        return response.status, answer

    def close(self) -> None:
        """Close the connection of this thread; the next request opens another one."""
        self._drop()

    def _drop(self) -> None:
        connection: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None


def _decoded(code: int, answer: bytes) -> Any:
    """The JSON in an answer; some errors come as plain text, which becomes a message.

    :raises ValueError: for what should be JSON.
    """
    try:
        return json.loads(answer)
    except ValueError:
        if code < 400:
            raise
        return {"message": answer.decode("utf-8", "replace").strip()}
