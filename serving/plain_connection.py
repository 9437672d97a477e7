"""A connection without TLS, which counts among the open ones as a TLS connection does."""

from __future__ import annotations

import asyncio

from serving.connections import Connections


class PlainConnection(asyncio.Protocol):
    """Passes on whatever happens on a connection.

    :param application: what is told.
    :param connections: where it counts from its first moment on.
    """

    def __init__(self, application: asyncio.Protocol, connections: Connections) -> None:
        self._application = application
        self._connections = connections
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection."""
        self._transport = transport
        self._application.connection_made(transport)
        self._connections.opened(transport)

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the connection."""
        if self._transport is not None:
            self._connections.closed(self._transport)
            self._transport = None
        self._application.connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """Pass on what has come."""
        self._application.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass on that no more comes."""
        return self._application.eof_received()

    def pause_writing(self) -> None:
        """Pass on that the client does not read."""
        self._application.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the client reads again."""
        self._application.resume_writing()
