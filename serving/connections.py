"""The open connections of a process, and which of them is closed when there are too many.

Anybody who reaches the port can open connections at no cost.  So they are limited, and a new one takes the place of an idle
one: connections without any answer so far keep at most half of the places; of the others the one is closed whose last
answer is the oldest.  A connection whose request is being handled is never closed, one whose client does not read is.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from asyncio.sslproto import SSLProtocol, SSLProtocolState
from collections.abc import Callable
from time import monotonic
from typing import Any

from resourceapi.logs import log
from serving.logs import LogLimit
from serving.reading import ReadingTurns
from serving.unsent import UnsentAnswers

# How many seconds beyond its idle time a connection has to end by itself.
GRACE_SECONDS = 10.0


class Connections:
    """The open connections of a process, each identified by its socket; those in their handshakes count, too.

    :param most: how many may be open at once.
    :param idle_seconds: how long one may go without a request.
    :param shed: called for each that is closed because there are too many.
    :param clock: returns seconds since any fixed point in time.
    """

    def __init__(
        self,
        most: int,
        *,
        idle_seconds: float = 120.0,
        shed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._most = most
        self._longest = idle_seconds + GRACE_SECONDS
        self._shed = shed
        self._clock = clock
        # by socket: the connection, and the time of its opening or last answer; the oldest first
        self._fresh: dict[object, tuple[asyncio.BaseTransport, float]] = {}
        self._answered: dict[object, tuple[asyncio.BaseTransport, float]] = {}
        self._working: dict[object, asyncio.BaseTransport] = {}
        self._unsent = UnsentAnswers(clock)
        self.reading_turns = ReadingTurns()
        self._log_limit = LogLimit(clock)

    @property
    def half(self) -> int:
        """How many places one sort of connections may take, so that the other finds some."""
        return self._most // 2

    def __len__(self) -> int:
        return len(self._fresh) + len(self._answered) + len(self._working)

    def opened(self, transport: asyncio.BaseTransport) -> None:
        """Count a new connection; close an idle one if there are too many."""
        self._fresh[_key(transport)] = (transport, self._clock())
        if len(self) > self._most:
            self._shed_one()

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """Forget a connection."""
        key = _key(transport)
        self._fresh.pop(key, None)
        self._answered.pop(key, None)
        self._working.pop(key, None)
        self._unsent.remove(key)

    def works(self, transport: asyncio.BaseTransport | None) -> None:
        """Note that a whole request has arrived, which is being handled from now on."""
        key = _key(transport)
        known = self._fresh.pop(key, None) or self._answered.pop(key, None)
        if known is not None:
            self._working[key] = known[0]

    def answered(self, transport: asyncio.BaseTransport | None, size: int = 0) -> None:
        """Note that a request has been answered, by so many bytes, which are written now.

        If there is no room for them, connections are closed whose clients do not read.
        """
        key = _key(transport)
        known = self._working.pop(key, None)
        if known is None:
            waiting = self._fresh.pop(key, None) or self._answered.pop(key, None)
            if waiting is None:
                return
            known = waiting[0]
        self._answered[key] = (known, self._clock())
        assert isinstance(transport, asyncio.WriteTransport)
        assert isinstance(known, asyncio.WriteTransport)
        self._end_unread(self._unsent.add(key, {transport, known}, size))

    def expire(self) -> None:
        """Close connections without a request or answer for too long, even if bytes trickle in, and those that do not read."""
        self._end_unread(self._unsent.unread())
        due = self._clock() - self._longest
        for waiting in (self._fresh, self._answered):
            for transport, since in list(waiting.values()):
                if since > due:
                    break
                self._end(transport)

    def _shed_one(self) -> None:
        """Close one; the new one itself only if requests are being handled on all others."""
        waiting = self._fresh if len(self._fresh) > self.half or not self._answered else self._answered
        transport, _ = next(iter(waiting.values()))
        self._shed()
        if self._log_limit.left_out("crowded") is not None:
            log(logging.WARNING, "too many connections: the oldest idle ones are closed", limit=self._most)
        self._end(transport)

    def _end_unread(self, unread: list[object]) -> None:
        for key in unread:
            transport, _ = self._answered.get(key) or (self._working[key], 0.0)
            if self._log_limit.left_out("unread") is not None:
                log(logging.WARNING, "clients do not read their answers: their connections are closed")
            self._end(transport)

    def _end(self, transport: asyncio.BaseTransport) -> None:
        """Close a connection at once: an idle client would not take part in a TLS shutdown."""
        self.closed(transport)
        assert isinstance(transport, asyncio.WriteTransport)
        transport.abort()


def _key(transport: asyncio.BaseTransport | None) -> object:
    """The socket, which is the same for a connection and for TLS on it."""
    return None if transport is None else transport.get_extra_info("socket")


# A connection without TLS, which counts among the open ones as a TLS connection does.


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


# TLS on one connection of a server, with a buffer that thousands of idle connections can afford.
# asyncio gives every TLS connection a buffer of 256 KiB for what is received, and has no parameter for it.
# And OpenSSL keeps, until a connection ends, as much memory as what was once written to it at a time.
# So its protocol is put on a plain connection here instead of asking the loop for TLS, with another size
# as a class attribute, and writes in parts.  This is the one place that knows ``asyncio.sslproto``, which
# is public by name, but not documented.

# What OpenSSL and the rest of a connection take beside it is some 25 KiB.
BUFFER_BYTES = 4 * 1024
# As much as one record of TLS holds is encrypted at a time.
WRITE_BYTES = 16 * 1024
HANDSHAKE_SECONDS = 10
# How long to wait for the other side to shut TLS down; one that is half open never does.
SHUTDOWN_SECONDS = 5


class TLSConnection(SSLProtocol):
    """TLS of one connection, which carries the protocol of an application.

    :param connections: where it counts from its first moment on.
    :param is_known: whether a client has a certificate that makes it known; all others take turns at being read from.
    """

    max_size = BUFFER_BYTES
    # of asyncio: whether it has paused the plain connection, and the plain connection has paused it
    _ssl_reading_paused: bool
    _ssl_writing_paused: bool
    # what is not encrypted yet (bytes, or the like), what does that, and what is
    _write_backlog: Any
    _sslobj: ssl.SSLObject
    _outgoing: ssl.MemoryBIO
    _state: SSLProtocolState

    def __init__(
        self,
        application: asyncio.Protocol,
        context: ssl.SSLContext,
        connections: Connections,
        is_known: Callable[[Any], bool] = lambda certificate: False,
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
        self._is_known = is_known
        self._plain: asyncio.Transport | None = None
        self._takes_turns = False
        self._is_first = True
        self._waits = False  # for its turn
        # also of what the application does not take
        self._set_read_buffer_limits(BUFFER_BYTES)  # type: ignore[attr-defined]  # not in typeshed

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

    def _do_read(self) -> None:
        """Read what has come; from strangers in their turn."""
        if self._waits:
            return
        if not self._takes_turns or self._state is not SSLProtocolState.WRAPPED:
            super()._do_read()  # type: ignore[misc]  # not in typeshed
            return
        self._waits = True
        turns, is_first, self._is_first = self._connections.reading_turns, self._is_first, False
        if not turns.take(self._read_in_turn, is_first=is_first) and self._plain is not None:
            self._plain.pause_reading()

    def _read_in_turn(self) -> None:
        self._waits = False
        if self._plain is not None:
            super()._do_read()  # type: ignore[misc]
            self._resume_if_free()

    def _resume_if_free(self) -> None:
        if self._plain is not None and not (
            self._waits or self._ssl_writing_paused or self._ssl_reading_paused
        ):
            self._plain.resume_reading()

    def resume_writing(self) -> None:
        """Go on writing, and reading if nothing else forbids it."""
        super().resume_writing()
        if self._write_backlog:
            self._write_appdata([])
        self._resume_if_free()

    def _do_write(self) -> None:
        """Encrypt what waits, a part at a time, as long as the client reads."""
        while self._write_backlog and not self._ssl_writing_paused:
            self._write_part()
        self._process_outgoing()  # type: ignore[attr-defined]  # not in typeshed

    def _start_shutdown(self) -> None:
        """End TLS, after all that waits."""
        while self._write_backlog and self._state is SSLProtocolState.WRAPPED:
            self._write_part()
        super()._start_shutdown()

    def _write_part(self) -> None:
        waiting = memoryview(self._write_backlog[0])
        count = self._sslobj.write(waiting[:WRITE_BYTES])
        self._write_buffer_size -= count
        if count < len(waiting):
            self._write_backlog[0] = waiting[count:]
        else:
            del self._write_backlog[0]
        if self._plain is not None:
            self._plain.write(self._outgoing.read())

    def _control_ssl_reading(self) -> None:
        """Read nothing more from a client that does not read, or waits for its turn.

        OpenSSL answers each request for new keys (KeyUpdate) at once, and these answers would wait in memory without end.
        """
        super()._control_ssl_reading()  # type: ignore[misc]  # not in typeshed
        if self._plain is not None and (self._waits or self._ssl_writing_paused):
            self._plain.pause_reading()

    def _on_handshake_complete(self, handshake_exc: BaseException | None) -> None:
        """End the handshake.

        What OpenSSL holds, with a client's certificates some 500 KB, would wait for the garbage collector otherwise: the
        traceback of an error leads to the frame that has both.
        """
        super()._on_handshake_complete(handshake_exc)
        if isinstance(handshake_exc, BaseException):  # asyncio passes the class as well
            handshake_exc.__traceback__ = None
        else:
            self._takes_turns = not self._is_known(self._get_extra_info("peercert"))
