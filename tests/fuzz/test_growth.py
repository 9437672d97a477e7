"""The time of everything that expressions can name grows no faster than what it is charged: a part of what `make fuzz` runs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from deviceselectors.libraries import find, names
from deviceselectors.parser import allow_deep_recursion
from tests.fuzz import arguments, growth

_FRAGMENTS = 1
_NUMBERS = random.Random(22)


def _calls() -> dict[str, list[growth.Work]]:
    works: dict[str, list[growth.Work]] = {}
    for name, work in growth.calls(_NUMBERS, _FRAGMENTS):
        works.setdefault(name.split(" of ")[0], []).append(work)
    return works


_CALLS = _calls()


@pytest.mark.parametrize("works", [pytest.param(works, id=overload) for overload, works in _CALLS.items()])
def test_functions(works: list[growth.Work]) -> None:
    """Twice the text takes no more than 2.5 times as long, if it is charged for twice as much."""
    assert [found for work in works if (found := growth.problem(work))] == []


def test_every_function_is_called() -> None:
    """Those that are not are made by the compiler, or of values that selectors cannot have."""
    called = {name for name, _ in arguments.calls()}
    others = {name for name in names() if name not in called} - arguments.SYNTAX
    for name in others:
        function = find(name)
        assert function is not None
        assert all({a.name for a in o.arguments} & arguments._NO_VALUES for o in function.overloads), name


@pytest.mark.parametrize("form", growth.FORMS)
def test_compiling(form: str) -> None:
    """An expression of 10 KiB is read, checked and estimated in proportion to its length."""
    allow_deep_recursion()
    fragment = _NUMBERS.choice(growth.FRAGMENTS)
    sizes = growth.LONGEST_EXPRESSION, growth.LONGEST_EXPRESSION
    assert growth.problem(growth.compiling(form, fragment), *sizes) == ""


class _Clock:
    """The time of a thread whose work takes a tenth of a microsecond for each of its rounds."""

    now = 0.0

    def work(self, *, square: bool) -> growth.Work:
        def prepare(size: int) -> Callable[[], growth.Done]:
            def do() -> growth.Done:
                self.now += (size * size // 64 if square else size * 64) / 10_000_000
                return 1.0, "done"

            return do

        return prepare


def test_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work by the square of its size is found, and work in proportion to it is not."""
    clock = _Clock()
    monkeypatch.setattr(time, "thread_time", lambda: clock.now)
    assert "times as long" in growth.problem(clock.work(square=True), 1 << 14, 1 << 14)
    assert growth.problem(clock.work(square=False), 1 << 14, 1 << 14) == ""
