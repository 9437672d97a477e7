"""Devices of drivers that a pod cannot want take none of its time, unless one of them ends its search with an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from unittest.mock import patch

import pytest

from allocator.attempt import Attempt
from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.features import GATES, Features
from allocator.rules.standing import ExclusiveUse
from resourceapi.objects import Object
from tests.allocator.objects import (
    DRIVER,
    alternative,
    ask,
    claim,
    cluster,
    device,
    device_class,
    devices_of,
    exactly,
    first_of,
    slice_of,
)

OTHER = "an.example.com"  # its pools come first
OURS, OF_OTHER = f'device.driver == "{DRIVER}"', f'device.driver == "{OTHER}"'
MODEL = f'device.attributes["{DRIVER}"].model == "A"'
NO_KEY = "no such key: model"


@pytest.fixture
def looked_at() -> Iterator[set[str]]:
    """The drivers of the devices that searches look at."""
    found: set[str] = set()
    is_free, selects = ExclusiveUse.admits, Attempt.selects

    def admits(state: AttemptState, wanted: Alternative, candidate: Device) -> bool:
        found.add(candidate.id.driver)
        return is_free(state, wanted, candidate)

    def selecting(attempt: Attempt, wanted: Alternative, candidate: Device) -> bool:
        found.add(candidate.id.driver)
        return selects(attempt, wanted, candidate)

    with patch.object(ExclusiveUse, "admits", admits), patch.object(Attempt, "selects", selecting):
        yield found


class Case(NamedTuple):
    """Selectors of the class and of the request, and the devices that come of them, or part of the error."""

    of_class: list[str]
    own: list[str]
    passes_over: bool
    error: str = ""


CASES = {
    "by the class": Case([OURS], [], True),
    "by the class, then an attribute": Case([OURS, MODEL], [], True),
    "by the class, then the request": Case([OURS], [MODEL], True),
    "by the request": Case([], [f"{OURS} && {MODEL}"], True),
    "the other way round": Case([f'"{DRIVER}" == device.driver && {MODEL} && true'], [], True),
    "not first": Case([f"has(device.attributes) && {OURS}"], [], False),
    "in a later selector": Case(["device.allowMultipleAllocations == false", OURS], [], False),
    "or": Case([f"{OURS} || {MODEL}"], [], False, NO_KEY),
    "not": Case(['device.driver != "x"'], [], False),
    "a later selector that fails on others": Case([MODEL, OURS], [], False, NO_KEY),
    "none": Case([], [], False),
    "no expression": Case([f"{OURS} &&"], [], False, "Syntax error"),
}


@pytest.mark.parametrize("count", [1, None], ids=["one", "all"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_selectors_say_of_the_driver(case: Case, count: int | None, looked_at: set[str]) -> None:
    """Only what is looked at first counts: what comes before may fail on any device."""
    state = cluster(
        slice_of("strange", name="a", pool="a", driver=OTHER),
        slice_of(device("d", attributes={"model": "A"}), name="b", pool="b"),
        classes=[device_class(selectors=case.of_class)],
    )
    answer = ask(state, claim(exactly(count=count, selectors=case.own)))
    assert (OTHER not in looked_at) is case.passes_over
    assert case.error in answer.error
    if case.passes_over:
        assert devices_of(answer) == ["r=d"]


WITHOUT_VALUE: Object = {"model": {}}


@pytest.mark.parametrize("minor", [34, 35, 36, 37])
def test_device_with_which_no_expression_can_be_evaluated(minor: int, looked_at: set[str]) -> None:
    """It ends the search as before, whoever's it is."""
    state = cluster(
        slice_of("strange", name="a1", pool="a", driver=OTHER, count=2),
        slice_of({"name": "bad", "attributes": WITHOUT_VALUE}, name="a2", pool="a", driver=OTHER, count=2),
        slice_of("d", name="b", pool="b"),
        classes=[device_class(selectors=[OURS])],
        features=Features(GATES, minor),
    )
    assert "unsupported attribute value" in ask(state, claim(exactly())).error
    assert OTHER in looked_at
    state.put_slice(slice_of("good", name="a2", pool="a", driver=OTHER, count=2))
    looked_at.clear()
    assert devices_of(ask(state, claim(exactly(), name="later"))) == ["r=d"]
    assert OTHER not in looked_at


def test_requests_for_different_drivers(looked_at: set[str]) -> None:
    """A pod looks at the devices of all drivers that it names, in any alternative."""
    third = "third.example.com"
    slices = [
        slice_of(f"d{place}", name=driver, pool=driver, driver=driver)
        for place, driver in enumerate((DRIVER, OTHER, third))
    ]
    classes = [device_class("ours", [OURS]), device_class("others", [OF_OTHER]), device_class("any")]
    state = cluster(*slices, classes=classes)
    wanted = [
        exactly("one", device_class="ours"),
        first_of("two", alternative("a", 2, "ours"), alternative("b", 1, "others")),
    ]
    assert devices_of(ask(state, claim(*wanted))) == ["one=d0", "two/b=d1"]
    assert looked_at == {DRIVER, OTHER}
    ask(state, claim(*wanted, exactly("three"), name="with any"))
    assert looked_at == {DRIVER, OTHER, third}
