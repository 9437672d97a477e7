"""Strangers take turns at being read from, so that others wait for a few of them at most."""

from __future__ import annotations

import asyncio
from functools import partial

from serving.reading import ROUND_SECONDS, ReadingTurns


class Looked:
    """What was looked at in each round, where each look takes some time."""

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self.seconds = seconds
        self.rounds: list[list[str]] = [[]]
        self.turns = ReadingTurns(lambda: self.now)

    def come(self, name: str, *, is_first: bool = False) -> bool:
        return self.turns.take(partial(self.look, name), is_first=is_first)

    def look(self, name: str) -> None:
        self.now += self.seconds
        self.rounds[-1].append(name)

    async def end(self, rounds: int = 50) -> list[list[str]]:
        for _ in range(rounds):
            self.rounds.append([])
            await asyncio.sleep(0)
        return [each for each in self.rounds if each]


def test_what_is_quick_does_not_wait() -> None:
    """Up to what a round may take; the rest comes with the next ones, in its order."""

    async def main() -> None:
        looked = Looked(ROUND_SECONDS / 4)
        assert [looked.come(name) for name in "abcdefgh"] == [True] * 5 + [False] * 3
        assert await looked.end() == [[*"abcde"], [*"f"], [*"gh"]]
        assert looked.come("i")

    asyncio.run(main())


def test_one_at_a_time_of_what_takes_long() -> None:
    """However many wait, each round looks at one of each sort, so that others come between."""

    async def main() -> None:
        looked = Looked(2 * ROUND_SECONDS)
        for name in "abcd":
            looked.come(name)
        for name in "xyz":
            looked.come(name, is_first=True)
        assert await looked.end() == [[*"a"], [*"xb"], [*"yc"], [*"zd"]]

    asyncio.run(main())


def test_who_comes_while_others_wait_waits_behind_them() -> None:
    """Even if the round has time."""

    async def main() -> None:
        looked = Looked(2 * ROUND_SECONDS)
        looked.come("a")
        assert not looked.come("b")
        looked.now, looked.seconds = 0.0, 0.0
        assert not looked.come("c")
        assert await looked.end() == [["a"], ["b", "c"]]

    asyncio.run(main())
