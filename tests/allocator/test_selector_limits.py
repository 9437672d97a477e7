"""Selectors that take long: the time limit ends them, and the next try goes on where the last one ended.

The clock of these tests counts evaluations, or how often it is looked at.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from itertools import count
from unittest.mock import patch

import pytest

from allocator.errors import OUT_OF_TIME
from allocator.scheduling import SchedulingState
from allocator.selection import Selectors
from allocator.time_limit import UNLIMITED, TimeLimit
from deviceselectors.compiler import Compiled, compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.program import Program
from resourceapi.limits import SELECTORS
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.objects import claim, cluster, device, exactly, slice_of

ONES = "[" + ",".join(["1"] * 60) + "]"
#: Takes 3,600 rounds; one variant is known to cost less than the limit, of the other that is not known.
LOOPS = {
    "bounded": f"{ONES}.all(a, {ONES}.all(b, a == b))",
    "cost not bounded": f"{ONES}.all(a, {ONES}.all(b, dyn({ONES}).size() > 0 || a == b))",
}


class Evaluations:
    """Counts the evaluations of selectors; the time is their number."""

    def __init__(self) -> None:
        self.number = 0
        self._matches = Program.matches

    def __call__(self) -> float:
        return self.number

    def matches(self, program: Program, device: Device) -> bool:
        self.number += 1
        return self._matches(program, device)


@pytest.fixture
def evaluations() -> Iterator[Evaluations]:
    counting = Evaluations()
    with patch.object(Program, "matches", lambda program, device: counting.matches(program, device)):
        yield counting


def state_of(devices: int = 1) -> SchedulingState:
    return cluster(slice_of(*[device(f"d{each}", attributes={"id": each}) for each in range(devices)]))


def many_selectors(requests: int = 1) -> Object:
    """A claim with as many different selectors as it may have."""
    return claim(
        *(
            exactly(f"r{each}", selectors=[f"{each} < 100 && {n} < 100" for n in range(SELECTORS)])
            for each in range(requests)
        )
    )


def looks(number: float) -> TimeLimit:
    clock = count()
    return TimeLimit(number, lambda: float(next(clock)))


def errors(state: SchedulingState, asked: Object, limit: TimeLimit = UNLIMITED) -> list[str]:
    return [each.error for each in state.filter([Claim(asked)], limit).nodes.outcomes]


def test_no_selector_is_evaluated_once_the_time_is_over(evaluations: Evaluations) -> None:
    state = state_of()
    assert errors(state, many_selectors(), TimeLimit(3, evaluations)) == [OUT_OF_TIME]
    assert evaluations.number == 4


def test_each_try_goes_on_where_the_last_one_ended(evaluations: Evaluations) -> None:
    """However many requests there are: outcomes are found once, and none of them is lost before it is needed."""
    requests, tries = 8, 0
    state, asked = state_of(devices=8), many_selectors(8)
    found = [OUT_OF_TIME]
    while found == [OUT_OF_TIME]:
        found = errors(state, asked, TimeLimit(9, evaluations))
        tries += 1
    assert found == [""]
    assert evaluations.number <= 8 * requests * SELECTORS
    assert tries > 5


@pytest.mark.parametrize("expression", LOOPS.values(), ids=LOOPS)
def test_evaluation_is_ended_and_leaves_no_outcome(expression: str) -> None:
    state = state_of()
    asked = claim(exactly(selectors=[expression]))
    assert errors(state, asked, looks(4)) == [OUT_OF_TIME]
    assert errors(state, asked) == [""]


def test_next_evaluation_has_its_own_limit() -> None:
    """Nothing of an evaluation that was ended is left in the thread."""
    state = state_of()
    errors(state, claim(exactly(selectors=[LOOPS["bounded"]])), looks(4))
    other = state_of()
    assert errors(other, claim(exactly(selectors=[LOOPS["bounded"] + " || false"]))) == [""]


@pytest.mark.parametrize("operand", ["true", ""], ids=["programs", "errors"])
def test_programs_of_long_expressions_are_not_all_kept(monkeypatch: pytest.MonkeyPatch, operand: str) -> None:
    """Their number alone says little of the memory that they take."""
    monkeypatch.setattr("allocator.selection._MAX_CHARACTERS", 1000)
    compiled: list[int] = []

    def compiling(expression: str, environment: Environment) -> Compiled:
        compiled.append(len(expression))
        return compile_expression(expression, environment)

    monkeypatch.setattr("allocator.selection.compile_expression", compiling)
    state = state_of()
    for length in (301, 302, 303, 304):
        errors(state, claim(exactly("r", selectors=[f"({operand})".ljust(length)])))
    state.put_slice(slice_of(device("d0", attributes={"id": 1})))  # no outcome is known of
    for length in (304, 301):
        errors(state, claim(exactly("r", selectors=[f"({operand})".ljust(length)])))
    assert compiled == [301, 302, 303, 304, 301]


#: Quotes a text of 128,000 characters in its error.
_LONG_TEXT = "0" * 4000
QUOTES_MUCH = f'cel.bind(a, "{_LONG_TEXT}", cel.bind(b, a + a + a + a, cel.bind(c, b + b + b + b, {{"x": 1}}[c + c] == 1)))'


def matches_of(state: SchedulingState) -> list[dict[int, bool | str]]:
    return [each.shape.properties.matches for slice in state.inventory for each in slice.devices]


def test_errors_that_quote_much_take_no_memory() -> None:
    """Of each device with which a claim of 4 KB was tried, megabytes were kept, and told for each node."""
    state = state_of()
    (answer,) = state.filter([Claim(claim(exactly(selectors=[QUOTES_MUCH])))], UNLIMITED).nodes
    assert "no such key: 000" in answer.error
    assert len(answer.error) < 2048
    assert matches_of(state) == [{}]
    errors(state, claim(exactly(selectors=['{"x": 1}["y"] == 1'])))
    assert [list(each.values()) for each in matches_of(state)] == [["no such key: y"]]


def test_expressions_are_not_kept_with_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of claims that are gone, 640 KB for each device, would otherwise be."""
    monkeypatch.setattr("allocator.selection._MAX_NUMBERED_CHARACTERS", 20_000, raising=False)
    shapes, length = [], 9_000
    tracemalloc.start()
    try:
        for number in range(8):
            state = state_of()
            texts = [f'true || "{number} {each}" == "{"x" * length}"' for each in range(SELECTORS)]
            assert errors(state, claim(exactly(selectors=texts))) == [""]
            assert [len(each) for each in matches_of(state)] == [SELECTORS]
            shapes += [each.shape for slice in state.inventory for each in slice.devices]
            del state, texts
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 2 * SELECTORS * length
    finally:
        tracemalloc.stop()


def test_numbers_of_expressions_are_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was forgotten is evaluated again, and not taken for something else."""
    monkeypatch.setattr("allocator.selection._MAX_NUMBERED_CHARACTERS", 20, raising=False)
    state = state_of()
    for expression, fits in (
        ("1 == 1 || 2 == 1", True),
        ("1 == 2 && 2 == 1", False),
        ("1 == 1 || 2 == 1", True),
    ):
        asked = claim(exactly(selectors=[expression]))
        (found,) = state.filter([Claim(asked)], UNLIMITED).nodes.outcomes
        assert found.fits == fits


def test_long_lists_that_are_derived_are_not_kept_with_devices() -> None:
    """However short their elements are: each of them takes memory."""
    selectors, (each,) = Selectors(), [each for slice in state_of().inventory for each in slice.devices]
    for size, element in ((25, '""'), (26, '""'), (10_000, '""'), (10_000, "true")):
        found = selectors.derive("a", f"lists.range({size}).map(each, {element})", each, UNLIMITED)
        assert len(next(iter(found.values()))) == size
    kept = [len(value) for found in each.shape.properties.derived.values() for value in found.values()]
    assert kept == [25]
