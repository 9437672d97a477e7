"""Looks for what the server will report once it can read an object, as long as all of a run takes no more than it may."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable

from advice.findings import Result

MOST_EFFORT = 1_000_000
"""After how much effort of a run (:class:`advice.afterwards.foretelling.Effort`) no further object is looked at."""


class ForetellingFailed(UserWarning):
    """A mistake of ours, at which a run does not end: only tests and Python's development mode show it."""


# At the end: what tests and `python -X dev` ask for goes first.
warnings.simplefilter("ignore", ForetellingFailed, append=True)


class LookingAhead:
    """What a run may still spend."""

    def __init__(self) -> None:
        self._spent = 0

    def foretell(self, result: Result, foretell: Callable[[], None]) -> None:
        """Have a result's ``afterwards`` found, unless all effort is spent.

        Whatever goes wrong there, the server's answer stays.
        """
        if self._spent >= MOST_EFFORT:
            result.is_foretold = False
            return
        try:
            foretell()
        except Exception as error:  # noqa: BLE001 - what is only foretold must not hide what is certain
            warnings.warn(ForetellingFailed(repr(error)), stacklevel=2)
        self._spent += result.effort


def limit(results: Iterable[Result]) -> None:
    """Leave of results of several processes what one process would have found.

    Each process has spent no more on the objects before one of its own than one process would have.
    """
    spent = 0
    for result in results:
        if result.effort and spent >= MOST_EFFORT:
            result.is_foretold = False
            result.afterwards = []
        spent += result.effort
