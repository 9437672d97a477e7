"""How long a search or an explanation may take. The work checks its time limit now and then, and stops when it is over."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic

#: How long commands try to place or explain one pod, in seconds.
POD_SECONDS = 20.0
#: How long a change of many devices may hold up who asks about them, at a time.
STEP_SECONDS = 0.05


class OutOfTime(Exception):
    """The time limit is over; nothing can be concluded from what has not been found."""


class TimeLimit:
    """A number of seconds, counted from now."""

    def __init__(self, seconds: float = inf, clock: Callable[[], float] = monotonic) -> None:
        """Begin to count; `clock` returns seconds since any moment, or whatever else is to be limited."""
        self._clock = clock
        self._end = clock() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self._clock() > self._end

    def check(self) -> None:
        """Do nothing while there is time.

        :raises OutOfTime: if the time is up.
        """
        if self._clock() > self._end:
            raise OutOfTime

    def part(self, seconds: float) -> TimeLimit:
        """A limit of so many seconds from now, or of what is left of this one if that is less."""
        part = TimeLimit(seconds, self._clock)
        part._end = min(part._end, self._end)
        return part

    def share(self, parts: int, least: float = 0) -> TimeLimit:
        """A limit of one of so many equal parts of what is left of this one, or of `least` seconds if the parts are shorter."""
        return self.part(max((self._end - self._clock()) / parts, least))


UNLIMITED = TimeLimit()
