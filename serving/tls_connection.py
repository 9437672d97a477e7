"""TLS on one connection of a server, with a buffer that thousands of idle connections can afford.

asyncio gives every TLS connection a buffer of 256 KiB for what is received, and has no parameter for it.  So its protocol
is put on a plain connection here instead of asking the loop for TLS, with another size as a class attribute.  This is the
one place that knows ``asyncio.sslproto``, which is public by name, but not documented.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol

from serving.connections import Connections

# What OpenSSL and the rest of a connection take beside it is some 25 KiB.
BUFFER_BYTES = 4 * 1024
HANDSHAKE_SECONDS = 10
# How long to wait for the other side to shut TLS down; one that is half open never does.
SHUTDOWN_SECONDS = 5


class TLSConnection(SSLProtocol):
    """TLS of one connection, which carries the protocol of an application.

    :param connections: where it counts from its first moment on.
    """

    max_size = BUFFER_BYTES
    # of asyncio: whether it has paused the plain connection, and the plain connection has paused it
    _ssl_reading_paused: bool
    _ssl_writing_paused: bool

    def __init__(
        self, application: asyncio.Protocol, context: ssl.SSLContext, connections: Connections
    ) -> None:
        super().__init__(
            asyncio.get_running_loop(),
            application,
            context,
            None,  # type: ignore[arg-type]  # nobody waits for the end of the handshake
            server_side=True,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=SHUTDOWN_SECONDS,
        )
        self._connections = connections
        self._plain: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the handshake."""
        assert isinstance(transport, asyncio.Transport)
        self._plain = transport
        super().connection_made(transport)
        self._connections.opened(transport)

    def connection_lost(self, error: BaseException | None) -> None:
        """Forget the connection."""
        if self._plain is not None:
            self._connections.closed(self._plain)
            self._plain = None
        super().connection_lost(error)

    def resume_writing(self) -> None:
        """Go on writing, and reading if nothing else forbids it."""
        super().resume_writing()
        if self._plain is not None and not (self._ssl_writing_paused or self._ssl_reading_paused):
            self._plain.resume_reading()

    def _control_ssl_reading(self) -> None:
        """Read nothing more from a client that does not read.

        OpenSSL answers each request for new keys (KeyUpdate) at once, and these answers would wait in memory without end.
        """
        super()._control_ssl_reading()  # type: ignore[misc]  # not in typeshed
        if self._plain is not None and self._ssl_writing_paused:
            self._plain.pause_reading()

    def _on_handshake_complete(self, handshake_exc: BaseException | None) -> None:
        """End the handshake.

        What OpenSSL holds, with a client's certificates some 500 KB, would wait for the garbage collector otherwise: the
        traceback of an error leads to the frame that has both.
        """
        super()._on_handshake_complete(handshake_exc)
        if isinstance(handshake_exc, BaseException):  # asyncio passes the class as well
            handshake_exc.__traceback__ = None
