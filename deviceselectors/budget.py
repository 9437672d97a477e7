"""What may be spent on one request: time, bytes of expressions, and only while somebody waits for the answer.

Compiling asks before each expression (:func:`spend`), whoever wants it compiled: rules, lints, or searches; conversions
ask before each object (:meth:`Budget.insist`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic


class BudgetSpentError(Exception):
    """The next expression is one too many; the message says of what there is too much."""


class Budget:
    """Seconds from now, and bytes of expressions (UTF-8) that are compiled in them.

    Other threads may call :meth:`stop` and :meth:`seconds_left`.
    """

    __slots__ = ("_bytes_left", "_clock", "_deadline", "_is_stopped", "_most_bytes", "_seconds")

    def __init__(self, seconds: float, most_bytes: int, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seconds = seconds
        self._deadline = clock() + seconds
        self._most_bytes = self._bytes_left = most_bytes
        self._is_stopped = False

    def stop(self) -> None:
        """Nobody waits any more: the next expression ends the work."""
        self._is_stopped = True

    def is_open(self) -> bool:
        """Whether somebody still waits for the answer."""
        return not self._is_stopped and self._clock() < self._deadline

    def seconds_left(self) -> float:
        """How much time there is; never negative."""
        return max(0.0, self._deadline - self._clock())

    def insist(self) -> None:
        """Go on only if somebody still waits.

        :raises BudgetSpentError: otherwise.
        """
        if self._is_stopped:
            raise BudgetSpentError("nobody waits for the answer any more")
        if self._clock() >= self._deadline:
            raise BudgetSpentError(f"the review takes longer than {self._seconds:g} s")

    def spend(self, expression: str) -> None:
        """Take what an expression needs, before it is compiled.

        :raises BudgetSpentError: if there is no time for it, or there are too many bytes.
        """
        self.insist()
        self._bytes_left -= len(expression.encode("utf-8", "surrogatepass"))
        if self._bytes_left < 0:
            raise BudgetSpentError(f"the expressions have more than {self._most_bytes} bytes together")


_current: ContextVar[Budget | None] = ContextVar("budget of expressions", default=None)


@contextmanager
def within(budget: Budget) -> Iterator[None]:
    """What this thread compiles in a ``with`` block is taken from the budget."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def spend(expression: str) -> None:
    """Take an expression from the budget that it is compiled within, if there is one.

    :raises BudgetSpentError: if nothing is left.
    """
    budget = _current.get()
    if budget is not None:
        budget.spend(expression)
