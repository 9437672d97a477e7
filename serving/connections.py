"""How many connections a process has, and which of them goes when there are too many.

Anybody who reaches the port can open connections, and none of them costs the client anything.  So they have a limit, and
a newcomer takes the place of one that does nothing: those that were never answered anything keep half of the places at
most, of the others the one goes that was answered the longest time ago.  A connection whose request is being worked on
never goes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from time import monotonic

from serving.logs import log

# How often it is worth a line that connections are shed, in seconds.
REPORT_SECONDS = 10.0
# How much longer than it may be idle a connection may take to end by itself.
GRACE_SECONDS = 10.0


class Connections:
    """The open connections of a process, each known by its socket; those that are still shaking hands count, too."""

    def __init__(
        self,
        most: int,
        *,
        idle_seconds: float = 120.0,
        shed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """
        :param most: so many at once.
        :param idle_seconds: how long one may go without a request.
        :param shed: called for each that has to go.
        """
        self._most = most
        self._longest = idle_seconds + GRACE_SECONDS
        self._shed = shed
        self._clock = clock
        # by socket: the connection, and since when it is there; the oldest first
        self._fresh: dict[object, tuple[asyncio.BaseTransport, float]] = {}
        self._answered: dict[object, tuple[asyncio.BaseTransport, float]] = {}
        self._working: dict[object, asyncio.BaseTransport] = {}
        self._reported = float("-inf")

    @property
    def half(self) -> int:
        """So many places one sort of connections may take, that others find some."""
        return self._most // 2

    def __len__(self) -> int:
        return len(self._fresh) + len(self._answered) + len(self._working)

    def opened(self, transport: asyncio.BaseTransport) -> None:
        """There is one more."""
        self._fresh[_key(transport)] = (transport, self._clock())
        if len(self) > self._most:
            self._shed_one()

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """It is gone."""
        key = _key(transport)
        self._fresh.pop(key, None)
        self._answered.pop(key, None)
        self._working.pop(key, None)

    def works(self, transport: asyncio.BaseTransport | None) -> None:
        """A whole request has come on it, which is worked on from now on."""
        key = _key(transport)
        known = self._fresh.pop(key, None) or self._answered.pop(key, None)
        if known is not None:
            self._working[key] = known[0]

    def answered(self, transport: asyncio.BaseTransport | None) -> None:
        """A request has been answered."""
        key = _key(transport)
        known = self._working.pop(key, None)
        if known is None:
            waiting = self._fresh.pop(key, None) or self._answered.pop(key, None)
            if waiting is None:
                return
            known = waiting[0]
        self._answered[key] = (known, self._clock())

    def expire(self) -> None:
        """End those that nothing has been done on for too long, whatever trickles in or is not taken."""
        due = self._clock() - self._longest
        for waiting in (self._fresh, self._answered):
            for transport, since in list(waiting.values()):
                if since > due:
                    break
                self._end(transport)

    def _shed_one(self) -> None:
        """The newcomer itself goes only if all others are at work."""
        waiting = self._fresh if len(self._fresh) > self.half or not self._answered else self._answered
        transport, _ = next(iter(waiting.values()))
        self._shed()
        if self._clock() - self._reported >= REPORT_SECONDS:
            self._reported = self._clock()
            log(logging.WARNING, "too many connections: the oldest idle ones are closed", limit=self._most)
        self._end(transport)

    def _end(self, transport: asyncio.BaseTransport) -> None:
        """At once: who does nothing would not say goodbye either."""
        self.closed(transport)
        assert isinstance(transport, asyncio.WriteTransport)
        transport.abort()


def _key(transport: asyncio.BaseTransport | None) -> object:
    """The same for a connection and for TLS on it."""
    return None if transport is None else transport.get_extra_info("socket")
