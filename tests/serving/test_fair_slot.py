"""Whose request runs next where those of many namespaces wait for one slot."""

from __future__ import annotations

import asyncio
from asyncio import CancelledError, Task
from collections.abc import Coroutine
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from serving.routes import HTTPError
from serving.slots import FairSlot, Places


class Crowd:
    """Those that wait for a slot, named after their namespaces: ``a1`` is of ``a``."""

    def __init__(self, most: int, *, shares: bool = False) -> None:
        self.slot = FairSlot(most, shares=shares)
        self.tasks: dict[str, Task[None]] = {}
        self.inside: list[str] = []

    async def come(self, *names: str) -> None:
        """Let some wait, one after the other, and see who gets in."""
        for name in names:
            self.tasks[name] = asyncio.create_task(self._enter(name))
            await asyncio.sleep(0)

    async def end(self, name: str) -> None:
        """One is done."""
        self.inside.remove(name)
        self.slot.release(name[0])
        await self.settle()

    async def settle(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    async def order(self) -> list[str]:
        """Who comes in, if it is always the first one that is done."""
        found = []
        while self.inside:
            found.append(self.inside[0])
            await self.end(self.inside[0])
        return found

    async def _enter(self, name: str) -> None:
        await self.slot.acquire(name[0])
        self.inside.append(name)


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(main)


@pytest.mark.parametrize(
    ("most", "coming", "order"),
    [
        (1, "a1 a2 a3 a4 b1 c1 b2", "a1 b1 c1 a2 b2 a3 a4"),
        (1, "a1 a2 a3", "a1 a2 a3"),
        (2, "a1 a2 a3 b1 b2 c1", "a1 b1 c1 a2 b2 a3"),
    ],
)
def test_namespaces_take_turns(most: int, coming: str, order: str) -> None:
    """The one that has waited longest since its last turn is next; within each of them, who has come first."""

    async def main() -> None:
        crowd = Crowd(most)
        await crowd.come(*coming.split())
        assert await crowd.order() == order.split()
        assert all(crowd.slot.is_free_for(each) for each in "abc")

    run(main())


def test_one_namespace_never_has_all_places() -> None:
    """A place is left for others, who need not wait for the first namespace to be done."""

    async def main() -> None:
        crowd = Crowd(2)
        await crowd.come("a1", "a2", "a3")
        assert crowd.inside == ["a1"]
        assert not crowd.slot.is_free_for("a")
        assert crowd.slot.is_free_for("b")
        await crowd.come("b1", "c1")
        assert crowd.inside == ["a1", "b1"]
        await crowd.end("b1")
        assert crowd.inside == ["a1", "c1"]

    run(main())


def test_a_namespace_leaves_as_many_places_as_it_has() -> None:
    """The attack: two namespaces had all threads in which pods are bound, and others waited behind all of theirs."""

    async def main() -> None:
        crowd = Crowd(8, shares=True)
        await crowd.come(*(f"a{number}" for number in range(20)), *(f"b{number}" for number in range(20)))
        assert crowd.inside == ["a0", "a1", "a2", "a3", "b0", "b1"]
        await crowd.come("c0", "c1", "d0", "e0")
        assert crowd.inside[6:] == ["c0", "d0"]
        assert not crowd.slot.is_free_for("f")
        await crowd.end("a0")
        assert crowd.inside[-1] == "e0"
        while crowd.inside:
            await crowd.end(crowd.inside[0])
        assert all(crowd.slot.is_free_for(each) for each in "abcdef")

    run(main())


@pytest.mark.parametrize("leaving", ["a1", "b1", "b2"], ids=["as its turn comes", "first", "behind others"])
def test_who_leaves_keeps_nothing(leaving: str) -> None:
    """Neither its place nor the turn of others: also if its turn comes at the very moment at which it leaves."""

    async def main() -> None:
        crowd = Crowd(1)
        await crowd.come("c1", "a1", "b1", "b2")
        if leaving == "a1":
            crowd.inside.remove("c1")
            crowd.slot.release("c")
        crowd.tasks[leaving].cancel()
        with suppress(CancelledError):
            await crowd.tasks[leaving]
        await crowd.settle()
        assert await crowd.order() == [
            each for each in ("c1", "a1", "b1", "b2") if each != leaving and (leaving != "a1" or each != "c1")
        ]
        assert crowd.slot.is_free_for(leaving[0])

    run(main())


def test_places_are_left_for_others() -> None:
    """Whoever comes takes no more than they leave free, so that many who take all they can leave some for the next one."""
    places = Places(16, 6, "no more")
    with ExitStack() as taken:

        def most_of(name: str) -> int:
            number = 0
            with suppress(HTTPError):
                while True:
                    taken.enter_context(places.taken(name))
                    number += 1
            return number

        assert [most_of(name) for name in "abcd"] == [6, 5, 3, 1]
        with pytest.raises(HTTPError, match="no more"), places.taken("a"):
            pass
    with places.taken("a"):
        pass
