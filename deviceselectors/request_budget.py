"""How much one request may make us compile: seconds, bytes of expressions, and only while the client waits.

Every expression is charged before it is compiled (:func:`spend`), whether a rule, a lint or a search needs it;
conversions check before each object (:meth:`RequestBudget.insist`). Two other limits bound other work: one evaluation of
a compiled expression is bounded by :mod:`deviceselectors.runtime.effort`, one search for devices by
:class:`allocator.time_limit.TimeLimit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic


class BudgetSpentError(Exception):
    """The request has used up its budget; the message says what has run out."""


class RequestBudget:
    """The seconds from now, and the bytes of expressions compiled in them, that one request may use.

    Other threads may call :meth:`stop` and :meth:`seconds_left`.

    :param seconds: until nobody waits for the answer any more
    :param most_bytes: of all expressions together, in UTF-8
    :param clock: gives seconds since any fixed point in time
    """

    __slots__ = ("_bytes_left", "_clock", "_deadline", "_is_stopped", "_most_bytes", "_seconds")

    def __init__(self, seconds: float, most_bytes: int, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seconds = seconds
        self._deadline = clock() + seconds
        self._most_bytes = self._bytes_left = most_bytes
        self._is_stopped = False

    def stop(self) -> None:
        """End the work before the next expression, because nobody waits for the answer any more."""
        self._is_stopped = True

    def is_open(self) -> bool:
        """Tell whether somebody still waits for the answer."""
        return not self._is_stopped and self._clock() < self._deadline

    def seconds_left(self) -> float:
        """The seconds that remain, at least 0."""
        return max(0.0, self._deadline - self._clock())

    def insist(self) -> None:
        """Check that somebody still waits for the answer.

        :raises BudgetSpentError: if nobody does
        """
        if self._is_stopped:
            raise BudgetSpentError("nobody waits for the answer any more")
        if self._clock() >= self._deadline:
            raise BudgetSpentError(f"the review takes longer than {self._seconds:g} s")

    def spend(self, expression: str) -> None:
        """Charge an expression, before it is compiled.

        :raises BudgetSpentError: if time or bytes have run out
        """
        self.insist()
        self._bytes_left -= len(expression.encode("utf-8", "surrogatepass"))
        if self._bytes_left < 0:
            raise BudgetSpentError(f"the expressions have more than {self._most_bytes} bytes together")


_current: ContextVar[RequestBudget | None] = ContextVar("budget of expressions", default=None)


@contextmanager
def within(budget: RequestBudget) -> Iterator[None]:
    """Charge what this thread compiles in a ``with`` block to the budget."""
    token = _current.set(budget)
    try:
        yield
    finally:
        _current.reset(token)


def spend(expression: str) -> None:
    """Charge an expression to the budget of the request that it is compiled for, if there is one.

    :raises BudgetSpentError: if time or bytes have run out
    """
    budget = _current.get()
    if budget is not None:
        budget.spend(expression)


def insist() -> None:
    """Check that somebody still waits for the answer to the request that this thread works for, if there is one.

    :raises BudgetSpentError: if nobody does
    """
    budget = _current.get()
    if budget is not None:
        budget.insist()
