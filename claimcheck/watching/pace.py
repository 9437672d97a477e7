"""When something is found out anew that takes long: not too often, and for a small part of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

#: It is found out no more often than that, and for a tenth of the time at most.
SECONDS, SHARE = 30.0, 10


class Pace:
    """Tells when it is time again; for one thread."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """It is time at first."""
        self._clock = clock
        self._next = float("-inf")

    @property
    def is_time(self) -> bool:
        """Whether it has been left alone for long enough."""
        return self._clock() >= self._next

    @contextmanager
    def working(self) -> Iterator[None]:
        """Find it out in the block; if that fails, it is tried again no later than otherwise."""
        begun = self._clock()
        self._next = begun + SECONDS
        yield
        self._next = begun + max(SECONDS, SHARE * (self._clock() - begun))
