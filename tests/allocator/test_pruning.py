"""Skipping infeasible choices changes nothing but the time that a search takes."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from allocator.pruning.problem import SearchProblem
from allocator.pruning.search import PrunedSearch
from allocator.search import BacktrackLimitError, Search
from tests.allocator import scenes
from tests.allocator.cp_model import is_feasible
from tests.allocator.objects import (
    ALL_FEATURES,
    DRIVER,
    alternative,
    ask,
    claim,
    cluster,
    device,
    devices_of,
    exactly,
    first_of,
    held,
    slice_of,
    without,
)
from tests.allocator.random_pods import random_pod, random_pod_with_shared_devices
from tests.allocator.scenes import Scene, claims_of, combined, renamed_and_permuted, slices_of

MAX_BACKTRACKS = 20_000
EXAMPLES = 250


def plainly(attempt: Any, claims: Any, candidates: Any, all_devices: Any, features: Any, *_: Any) -> bool:
    return Search(attempt, claims, candidates, all_devices, MAX_BACKTRACKS).run()


def pruned(attempt: Any, claims: Any, candidates: Any, all_devices: Any, features: Any, *_: Any) -> bool:
    return PrunedSearch(SearchProblem(attempt, claims, candidates, all_devices, features)).run()


def answer_of(make: Callable[[Random], Any], seed: int) -> tuple[Any, str, str]:
    slices, taken, claims = make(Random(seed))
    features = ALL_FEATURES if seed % 3 else without("DRAListTypeAttributes")
    state = cluster(*slices, holders=[held(*taken)] if taken else [], features=features)
    answer = ask(state, *claims)
    results: Any = answer.result and [
        [
            {key: each[key] for key in each if key != "shareID"}
            for each in result["devices"].get("results", ())
        ]
        for result in answer.result
    ]
    return results, answer.error, answer.error_kind


@pytest.mark.parametrize(
    ("make", "block"),
    [(random_pod, n) for n in range(8)] + [(random_pod_with_shared_devices, n) for n in range(2)],
)
def test_same_answer_as_the_plain_search(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[Random], Any], block: int
) -> None:
    """The same devices, alternatives and errors, with all propagation from the first step.

    With 0 easy steps, the search asks before each device whether any solution is left.
    """
    compared = 0
    for seed in range(block * EXAMPLES, (block + 1) * EXAMPLES):
        monkeypatch.setattr("allocator.allocation.solve", plainly)
        try:
            expected = answer_of(make, seed)
        except BacktrackLimitError:
            continue  # There is nothing to compare with.
        monkeypatch.setattr("allocator.allocation.solve", pruned)
        for easy_steps in (100, 0):
            monkeypatch.setattr("allocator.pruning.search.STEPS_BEFORE_LOOKING_AHEAD", easy_steps)
            assert answer_of(make, seed) == expected, (seed, easy_steps)
        compared += 1
    assert compared > EXAMPLES * 0.95


def test_alternatives_that_are_left_out_bind_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other alternative, which the constraint does not concern, need not agree in its stead."""
    monkeypatch.setattr("allocator.allocation.solve", pruned)
    state = cluster(slice_of(device("d", attributes={"a": 1}), "e"))
    bound = {"matchAttribute": "gpu.example.com/a", "requests": ["r", "s/bound"]}
    either = first_of("s", alternative("bound"), alternative("free"))
    assert devices_of(ask(state, claim(exactly(), either, constraints=[bound]))) == ["r=d", "s/free=e"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_alternatives_may_take_less_of_other_devices_with_the_same_left(
    monkeypatch: pytest.MonkeyPatch, order: tuple[int, int]
) -> None:
    """One request takes all of one device, five a tenth of the other one: what a request takes depends on the device."""
    memory = {"memory": {"value": "10", "requestPolicy": {"default": "1"}}}
    shared = {"allowMultipleAllocations": True, "capacity": memory}
    state = cluster(slice_of(*(device(f"d{n}", attributes={"size": n}, **shared) for n in order)))
    own = f"device.attributes['{DRIVER}'].size"
    ways = (
        alternative("all", selectors=[f"{own} == 1"], capacity={"memory": "10"}),
        alternative("little", selectors=[f"{own} == 0"], capacity={"memory": "1"}),
    )
    demand = claim(*(first_of(f"r{number}", *ways) for number in range(6)))
    monkeypatch.setattr("allocator.allocation.solve", pruned)
    expected = ["r0/all=d1", *(f"r{number}/little=d0" for number in range(1, 6))]
    assert devices_of(ask(state, demand)) == expected


def test_amounts_finer_than_those_that_are_looked_at_in_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request may end in an error, so nothing is known of it until it has taken one and a half of four."""
    memory = {"memory": {"value": "4", "requestPolicy": {"default": "1"}}}
    shared = device("d", attributes={"size": 0}, allowMultipleAllocations=True, capacity=memory)
    sizeless = device("x", capacity=memory)
    first = exactly("r", selectors=[f"device.attributes['{DRIVER}'].size == 0"], capacity={"memory": "1500m"})
    others = [
        exactly(f"s{number}", selectors=["device.allowMultipleAllocations"], capacity={"memory": "1"})
        for number in range(3)
    ]
    monkeypatch.setattr("allocator.allocation.solve", pruned)
    state = cluster(slice_of(shared, sizeless))
    assert devices_of(ask(state, claim(first, *others[:2]))) == ["r=d", "s0=d", "s1=d"]
    assert ask(state, claim(first, *others)).result is None


FAMILIES: dict[str, Callable[[int, Random], Scene]] = {
    "pigeonhole": lambda k, _: scenes.pigeonhole(11 * k),
    "pigeonhole-exact": lambda k, _: scenes.pigeonhole(11 * k, 0),
    "match": lambda k, _: scenes.match(min(8 * k, 32), 8 * k, last=False),
    "match-last": lambda k, _: scenes.match(min(9 * k, 32), 4 * k, last=True),
    "distinct": lambda k, _: scenes.distinct(min(8 * k, 32)),
    "topology": lambda k, _: scenes.topology(8 * k, 4 * k, 4 * k),
    "topology-one-missing": lambda k, _: scenes.topology(8 * k, 4 * k, 4 * k, 1),
    "memory": lambda k, _: scenes.memory(4 * k),
    "memory-exact": lambda k, _: scenes.memory(4 * k, 0),
    "partitions": lambda k, random: scenes.partitions(3 * k, random),
    "partitions-one-more": lambda k, random: scenes.partitions(2 * k, random, 1),
    "alternatives": lambda k, _: scenes.alternatives(4 * k, min(4 * k, 8), 8 * k),
    "pairs": lambda k, _: scenes.pairs(4 * k, 4 * k),
    "pairs-one-more": lambda k, _: scenes.pairs(4 * k, 4 * k + 1),
    "bins": lambda k, _: scenes.bins(8 * k),
    "bins-exact": lambda k, _: scenes.bins(8 * k, 0),
    "full-bins": lambda k, _: scenes.full_bins(4 * k),
    "full-bins-one-more": lambda k, _: scenes.full_bins(4 * k, 1),
    "links": lambda k, _: scenes.links(6 * k),
    "links-exact": lambda k, _: scenes.links(6 * k, 0),
    "crossed": lambda k, _: scenes.crossed(4 * k, 4 * k),
    "crossed-exact": lambda k, _: scenes.crossed(4 * k, 4 * k, 0),
    "levels": lambda k, _: scenes.levels(6 * k, 6 * k),
    "levels-one-more": lambda k, _: scenes.levels(6 * k, 6 * k + 1),
}


def verdict(scene: Scene) -> bool:
    answer = ask(cluster(*slices_of(scene)), *claims_of(scene))
    assert not answer.error, answer.error
    return answer.result is not None


@pytest.mark.parametrize("family", FAMILIES)
def test_verdict_of_a_constraint_solver(family: str) -> None:
    """Where trying everything is out of the question, an independent model agrees."""
    random = Random(family)
    scene = FAMILIES[family](1, random)
    expected = is_feasible(scene)
    assert expected is not None
    assert verdict(scene) is expected
    assert verdict(renamed_and_permuted(scene, random)) is expected


@pytest.mark.parametrize("seed", range(6))
def test_verdict_of_families_in_one_pod(seed: int) -> None:
    """Several hard parts in one pod, in any order."""
    random = Random(seed)
    parts = [FAMILIES[family](1, random) for family in random.sample(sorted(FAMILIES), 2)]
    scene = renamed_and_permuted(combined(*parts), random)
    expected = is_feasible(scene)
    assert expected is not None
    assert verdict(scene) is expected
