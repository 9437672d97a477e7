"""An event loop whose time passes only while nothing else is left to do: waiting takes no time at all."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


class NothingLeft(RuntimeError):
    """Everything waits for something that never happens."""


class _Selector(selectors.SelectSelector):
    """Instead of waiting for files, it lets the time pass."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise NothingLeft("nothing is going to happen any more")
        self.now += timeout
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Its :meth:`time` begins with 0."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """The seconds since the beginning."""
        return self._virtual.now


def run(main: Coroutine[Any, Any, _Result]) -> _Result:
    """What a coroutine returns that is run in virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def now() -> float:
    """The seconds since the beginning, to the microsecond."""
    return round(asyncio.get_running_loop().time(), 6)
