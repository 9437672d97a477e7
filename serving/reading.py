"""How much of what strangers have sent is looked at before others are served."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import thread_time

# So much computing in one round of the event loop: whoever is served beside strangers waits for a few rounds.
ROUND_SECONDS = 0.005


class ReadingTurns:
    """What has been received from strangers on many connections, of which some is looked at in each round of the event loop.

    Connections take turns. Those of which nothing was looked at before have turns of their own: a probe that comes does not wait
    behind all that send without end, nor these behind ever new ones.

    :param clock: returns seconds of computing of the event loop's thread.
    """

    def __init__(self, clock: Callable[[], float] = thread_time) -> None:
        self._clock = clock
        self._first: deque[Callable[[], None]] = deque()
        self._further: deque[Callable[[], None]] = deque()
        self._is_in_rounds = False
        self._since = 0.0  # the beginning of the round

    def take(self, look: Callable[[], None], *, is_first: bool) -> bool:
        """Look at what has come on a connection, now or in its turn.

        :param look: does so; it is called once.
        :param is_first: whether nothing that came on the connection was looked at before.
        :returns: whether that was now; if not, nothing more may be received on the connection before its turn.
        """
        if not self._is_in_rounds:
            self._is_in_rounds = True
            self._since = self._clock()
            asyncio.get_running_loop().call_soon(self._begin_round)
        if self._first or self._further or self._is_over():
            (self._first if is_first else self._further).append(look)
            return False
        look()
        return True

    def _begin_round(self) -> None:
        was_long = self._is_over()  # with all that came of what was looked at
        self._since = self._clock()
        turns = self._first, self._further
        while any(turns):
            for waiting in turns:
                if waiting:
                    waiting.popleft()()
            if was_long or self._is_over():
                break
        self._is_in_rounds = any(turns)
        if self._is_in_rounds:
            asyncio.get_running_loop().call_soon(self._begin_round)

    def _is_over(self) -> bool:
        return self._clock() - self._since > ROUND_SECONDS
