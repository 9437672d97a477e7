"""What an evaluation does beyond what it is charged for.

CEL's units do not see everything: `"%s".format([text])` costs by the template, `[list].flatten()` by the number of
lists, `max()` nothing at all for short strings. Within the cost limit that is enough for hours, and for all memory.
Functions report such work here, in steps: an element gone through, a character or an instruction of a regular
expression made. An evaluation that needs more of them than any sensible one ends as if memory had run out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from deviceselectors.runtime.values import out_of_memory

#: Some seconds of work, and tens of megabytes, at most.
LIMIT = 5_000_000


class _Account(threading.local):
    spent = 0
    limit = LIMIT
    was_too_much = False


_account = _Account()


def begin() -> None:
    """Begins a new evaluation (or the making of a program) in this thread."""
    _account.spent = 0


def spend(steps: int) -> None:
    """Counts steps before they are done.

    :raises CelPanic: when they are too many
    """
    total = _account.spent + steps
    if total > _account.limit:
        _account.was_too_much = True
        raise out_of_memory()
    _account.spent = total


def spent() -> int:
    """The steps since the beginning."""
    return _account.spent


@contextmanager
def limited(steps: int) -> Iterator[Callable[[], bool]]:
    """Give each evaluation in a ``with`` block of this thread so many steps.

    :returns: a function that tells whether any of them needed more.
    """
    _account.limit, _account.was_too_much = steps, False
    try:
        yield lambda: _account.was_too_much
    finally:
        _account.limit = LIMIT
