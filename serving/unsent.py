"""Answers that clients have not read yet: what all of them may take, and how long one may wait to be read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

# As much as two of the largest conversions.
MOST_BYTES = 64 * 1024 * 1024
# An API server reads its answer as it comes.
UNREAD_SECONDS = 10.0


class _Answers(NamedTuple):
    """What is unsent on one connection.

    ``layers``: the transports of TLS and of the socket (one, without TLS), each of which may hold some of it.
    ``since``: when the client last read something.
    """

    layers: AbstractSet[asyncio.WriteTransport]
    size: int
    since: float


class UnsentAnswers:
    """The answers of a process that are not sent yet, by connection.

    :param clock: returns seconds since any fixed point in time.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # those whose clients have read nothing for longest come first
        self._waiting: dict[object, _Answers] = {}
        self._bytes = 0

    def add(self, connection: object, layers: AbstractSet[asyncio.WriteTransport], size: int) -> list[object]:
        """Count an answer that is written now; the connections to be ended to make room for it."""
        unread = [] if self._bytes + size <= MOST_BYTES else self.unread(size)
        former = self._waiting.get(connection)
        since = self._clock() if former is None else former.since
        self._waiting[connection] = _Answers(layers, size + (0 if former is None else former.size), since)
        self._bytes += size
        return unread

    def remove(self, connection: object) -> None:
        """Forget a connection."""
        answers = self._waiting.pop(connection, None)
        if answers is not None:
            self._bytes -= answers.size

    def unread(self, size: int = 0) -> list[object]:
        """The connections to be ended: those that have read nothing for too long, or longest, as there is no room.

        :param size: of an answer that is to be written.
        """
        now = self._clock()
        for connection, answers in list(self._waiting.items()):
            left = sum(layer.get_write_buffer_size() for layer in answers.layers)
            if left < answers.size:
                answers = answers._replace(since=now)
            if left < answers.size or not left:
                del self._waiting[connection]
            if left:
                self._waiting[connection] = answers._replace(size=left)
        self._bytes = left = sum(answers.size for answers in self._waiting.values())
        unread = []
        for connection, answers in self._waiting.items():
            if answers.since > now - UNREAD_SECONDS and left + size <= MOST_BYTES:
                break
            unread.append(connection)
            left -= answers.size
        return unread
