"""The open connections of a process, and which of them is closed when there are too many.

Anybody who reaches the port can open connections at no cost.  So they are limited, and a new one takes the place of an idle
one: connections without any answer so far keep at most half of the places; of the others the one is closed whose last
answer is the oldest.  A connection whose request is being handled is never closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic

from resourceapi.logs import log
from serving.log_limit import LogLimit

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

    def works(self, transport: asyncio.BaseTransport | None) -> None:
        """Note that a whole request has arrived, which is being handled from now on."""
        key = _key(transport)
        known = self._fresh.pop(key, None) or self._answered.pop(key, None)
        if known is not None:
            self._working[key] = known[0]

    def answered(self, transport: asyncio.BaseTransport | None) -> None:
        """Note that a request has been answered."""
        key = _key(transport)
        known = self._working.pop(key, None)
        if known is None:
            waiting = self._fresh.pop(key, None) or self._answered.pop(key, None)
            if waiting is None:
                return
            known = waiting[0]
        self._answered[key] = (known, self._clock())

    def expire(self) -> None:
        """Close connections without a request or answer for too long, even if bytes trickle in or are not read."""
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
        if self._log_limit.left_out("") is not None:
            log(logging.WARNING, "too many connections: the oldest idle ones are closed", limit=self._most)
        self._end(transport)

    def _end(self, transport: asyncio.BaseTransport) -> None:
        """Close a connection at once: an idle client would not take part in a TLS shutdown."""
        self.closed(transport)
        assert isinstance(transport, asyncio.WriteTransport)
        transport.abort()


def _key(transport: asyncio.BaseTransport | None) -> object:
    """The socket, which is the same for a connection and for TLS on it."""
    return None if transport is None else transport.get_extra_info("socket")
