"""Greedy search, and the check before it, agree with the search."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from allocator.errors import AllocationError
from allocator.search import BacktrackLimitError, Search
from allocator.solving import GreedySearch, lacks_candidates
from resourceapi.objects import Object
from tests.allocator.objects import (
    ALL_FEATURES,
    alternative,
    ask,
    claim,
    cluster,
    device,
    exactly,
    first_of,
    held,
    slice_of,
)
from tests.allocator.random_pods import random_pod

MAX_BACKTRACKS = 20_000
EXAMPLES = 300
#: Fails on devices without the attribute.
RISKY = "device.attributes['gpu.example.com'].risk == 1"


class Verdicts:
    """Replaces `solve`: runs all three, compares them and counts."""

    def __init__(self) -> None:
        self.undecided = self.yes = self.no = self.short = 0

    def __call__(self, attempt: Any, claims: Any, candidates: Any, all_devices: Any, *_: Any) -> bool:
        start = attempt.mark()
        short = lacks_candidates(attempt, claims, candidates, all_devices)
        easy, error = verdict(lambda: GreedySearch(attempt, candidates, all_devices).run(claims))
        found = [attempt.taken(each) for each in claims]
        attempt.undo(start)
        solved, reached = verdict(Search(attempt, claims, candidates, all_devices, MAX_BACKTRACKS).run)
        if reached is not None:
            assert error is None or str(error) == str(reached)
            assert easy is not False
            assert not short
            raise reached
        assert error is None
        self.undecided += easy is None
        self.yes += easy is True
        self.no += easy is False
        self.short += short
        assert not (short and solved)
        if easy is not None:
            assert easy is solved
        if easy:
            assert found == [attempt.taken(each) for each in claims]
        return bool(solved)


def verdict(search: Callable[[], bool | None]) -> tuple[bool | None, AllocationError | None]:
    """The result of a search, or the error that it raises."""
    try:
        return search(), None
    except AllocationError as error:
        return None, error


def compare(
    monkeypatch: pytest.MonkeyPatch, slices: list[Object], taken: list[str], claims: list[Object]
) -> Verdicts:
    verdicts = Verdicts()
    monkeypatch.setattr("allocator.allocation.solve", verdicts)
    ask(cluster(*slices, holders=[held(*taken)] if taken else [], features=ALL_FEATURES), *claims)
    return verdicts


@pytest.mark.parametrize("block", range(4))
def test_same_as_the_search(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """On random small pods: the same devices, verdicts and errors; and some pods are decided."""
    kinds = {"yes": 0, "no": 0, "undecided": 0, "short": 0}
    for seed in range(block * EXAMPLES, (block + 1) * EXAMPLES):
        try:
            verdicts = compare(monkeypatch, *random_pod(random.Random(seed)))
        except BacktrackLimitError:
            continue  # There is nothing to compare with.
        for name in kinds:
            kinds[name] += getattr(verdicts, name)
    assert all(kinds.values()), kinds


def test_an_error_that_the_search_would_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are too few devices, but backtracking meets one on which a selector fails."""
    slices = [
        slice_of(
            device("a", attributes={"risk": 1}),
            device("b", attributes={"risk": 1}),
            device("c", attributes={"other": 1}),
        )
    ]
    wanted = claim(exactly("r0", selectors=[RISKY]), exactly("r1", selectors=["false"]))
    verdicts = Verdicts()
    monkeypatch.setattr("allocator.allocation.solve", verdicts)
    answer = ask(cluster(*slices), wanted)
    assert "no such key: risk" in answer.error
    assert verdicts.short == 0


def test_short_supply(monkeypatch: pytest.MonkeyPatch) -> None:
    """That no device serves a later request is found without a search."""
    wanted = claim(exactly("r0"), exactly("r1", count=2, selectors=["false"]))
    verdicts = compare(monkeypatch, [slice_of("a", "b", "c")], [], [wanted])
    assert (verdicts.undecided, verdicts.short) == (1, 1)


def test_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is tried if there are too few devices for the first, whatever else might be chosen."""
    wanted = claim(first_of("r", alternative("x", 4), alternative("y", 2)))
    assert compare(monkeypatch, [slice_of("a", "b", "c")], [], [wanted]).yes == 1
