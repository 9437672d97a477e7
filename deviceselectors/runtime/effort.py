"""What an evaluation does beyond what it is charged for.

CEL's units do not see everything: `"%s".format([text])` costs by the template, `[list].flatten()` by the number of
lists, `max()` nothing at all for short strings. Within the cost limit that is enough for hours, and for all memory.
Functions report such work here, in steps: an element gone through, a character or an instruction of a regular
expression made. An evaluation that needs more of them than any sensible one ends as if memory had run out.

Who has less time than that looks at the clock meanwhile (:class:`watched`): that ends an evaluation without an outcome.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from deviceselectors.runtime.values import out_of_memory

#: Some seconds of work, and tens of megabytes, at most.
LIMIT = 5_000_000
#: So many steps are done between two looks at the clock: some milliseconds, or tens if each is a long expression.
STEPS_BETWEEN_CHECKS = 1_000


class _Account(threading.local):
    spent = 0
    limit = LIMIT
    was_too_much = False
    check: Callable[[], None] | None = None
    free = LIMIT  # so many steps may be done before anything is looked at
    first_free = LIMIT


_account = _Account()


def begin() -> None:
    """Begins a new evaluation (or the making of a program) in this thread."""
    if _account.spent:  # most evaluations spend nothing, and looking costs a third of writing
        _account.spent = 0
        _account.free = _account.first_free


def spend(steps: int) -> None:
    """Counts steps before they are done.

    :raises CelPanic: when they are too many
    """
    total = _account.spent + steps
    if total > _account.free:
        _look(total)
    _account.spent = total


def _look(total: int) -> None:
    if total > _account.limit:
        _account.spent, _account.was_too_much = total, True
        raise out_of_memory()
    if _account.check is not None:
        _account.check()
    _account.free = min(total + STEPS_BETWEEN_CHECKS, _account.limit)


def look() -> None:
    """Looks at the clock before one of many short evaluations, if anybody does meanwhile."""
    if _account.check is not None:
        _account.check()


def spent() -> int:
    """The steps since the beginning; more than there may be if that ended the evaluation."""
    return _account.spent


@contextmanager
def limited(steps: int) -> Iterator[Callable[[], bool]]:
    """Give each evaluation in a ``with`` block of this thread so many steps.

    :returns: a function that tells whether any of them needed more.
    """
    _account.limit, _account.was_too_much = steps, False
    _set_free()
    try:
        yield lambda: _account.was_too_much
    finally:
        _account.limit = LIMIT
        _set_free()


class watched:
    """Call a function now and then during each evaluation in a ``with`` block of this thread; what it raises ends that."""

    __slots__ = ("_check",)

    def __init__(self, check: Callable[[], None]) -> None:
        self._check = check

    def __enter__(self) -> None:
        _account.check = self._check
        _set_free()

    def __exit__(self, *exception: object) -> None:
        _account.check = None
        _set_free()


def _set_free() -> None:
    """Find out how many steps of an evaluation nobody looks at."""
    free = _account.limit if _account.check is None else min(STEPS_BETWEEN_CHECKS, _account.limit)
    _account.free = _account.first_free = free
