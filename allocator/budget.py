"""How long work may take. Whoever works looks at the budget from time to time, and stops when it is used up."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from time import monotonic


class OutOfTime(Exception):
    """The budget is used up; nothing can be concluded from what has not been found."""


class Budget:
    """Some seconds from now on. `clock` gives seconds, from any start; another one may count what it is asked."""

    def __init__(self, seconds: float = inf, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds

    @property
    def is_over(self) -> bool:
        return self._clock() > self._end

    def check(self) -> None:
        """Raises OutOfTime if the budget is used up."""
        if self.is_over:
            raise OutOfTime

    def part(self, seconds: float) -> Budget:
        """So many seconds of it, from now on; fewer if less is left."""
        part = Budget(seconds, self._clock)
        part._end = min(part._end, self._end)
        return part


UNLIMITED = Budget()
