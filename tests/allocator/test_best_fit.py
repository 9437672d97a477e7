"""The objective best-fit: it obeys all rules, is never worse in rank than first-fit, and wastes less."""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest

from allocator.best_fit import is_within
from allocator.fitting.waste import MOST_BYTES, CounterSetState, Shape, Variant, Worths
from allocator.scheduling import Mode, PodAnswer, SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records import claims as records
from tests.allocator.brute_force import Claim, Part, Pick, breaks_no_rule
from tests.allocator.mig import ARRIVALS, LAYOUTS, gpus, pods, wanted
from tests.allocator.objects import (
    DRIVER,
    alternative,
    claim,
    cluster,
    counter_slice,
    device,
    draws,
    exactly,
    first_of,
    held,
    node,
    slice_of,
)
from tests.allocator.test_brute_force import claim_of, holder, inventory_of, pod_of, slices_of

EXAMPLES = 100


def place(state: SchedulingState, mode: Mode, *claims: Object) -> PodAnswer:
    return state.place([records.Claim(each) for each in claims], mode, UNLIMITED)


def taken(answer: PodAnswer) -> list[str] | None:
    """`request=device` of what is kept, with the pool where it is not `pool`."""
    if not answer.placed:
        return None
    kept = next(each for each in answer.nodes if each.node == answer.placed)
    return [
        f"{each['request']}={each['device'] if each['pool'] == 'pool' else each['pool'] + '/' + each['device']}"
        for result in kept.result or ()
        for each in result["devices"].get("results", ())
    ]


@pytest.mark.parametrize("block", range(6))
def test_rules(block: int) -> None:
    """On random small inventories: a solution where first-fit has one, within the rules, not worse in rank."""
    for seed in range(block * EXAMPLES, (block + 1) * EXAMPLES):
        random = Random(f"best {seed}")
        parts, counters = inventory_of(random)
        held_parts = [part for part in parts if part.memory is None and random.random() < 0.2]
        whole = [part.name for part in held_parts]
        pod = pod_of(random)
        answers = []
        for mode in (Mode.FIRST_FIT, Mode.BEST_FIT):
            state = cluster(*slices_of(parts, counters), holders=[holder(part) for part in held_parts])
            answers.append(
                place(state, mode, *(claim_of(each, f"c{index}") for index, each in enumerate(pod)))
            )
        first, best = (_picks(answer, pod, parts) for answer in answers)
        assert (first is None) == (best is None)
        if first is not None and best is not None:
            assert breaks_no_rule(best, parts, counters, whole, pod)
            assert is_within(_rank(best, pod), _rank(first, pod))


def _picks(answer: PodAnswer, pod: list[Claim], parts: list[Part]) -> list[Pick] | None:
    if not answer.placed:
        return None
    by_name = {part.name: part for part in parts}
    found = []
    for index, (asked, result) in enumerate(zip(pod, answer.nodes[0].result or (), strict=True)):
        for each in result["devices"].get("results", ()):
            main, _, sub = each["request"].partition("/")
            request = next(request for request in asked.requests if request.name == main)
            option = next(
                option for option in request.options if option.name == sub or len(request.options) == 1
            )
            found.append((index, request, option, by_name[each["device"]]))
    return found


def _rank(picks: list[Pick], pod: list[Claim]) -> tuple[int, tuple[int, ...]]:
    places = tuple(
        next(
            (request.options.index(option) for of, own, option, _ in picks if (of, own) == (index, request)),
            0,
        )
        for index, asked in enumerate(pod)
        for request in asked.requests
        if len(request.options) > 1
    )
    return sum(places), places


def test_better_alternative_on_another_node() -> None:
    """A node with the preferred alternative is taken, even if an earlier one has another."""
    slices = [
        slice_of(device("d", attributes={"model": model}), name=name, pool=name, nodeName=name)
        for name, model in (("n1", 2), ("n2", 1))
    ]
    asked = claim(first_of("r", _of_model("good", 1), _of_model("poor", 2)))
    assert taken(place(_two_nodes(*slices), Mode.FIRST_FIT, asked)) == ["r/poor=n1/d"]
    assert taken(place(_two_nodes(*slices), Mode.BEST_FIT, asked)) == ["r/good=n2/d"]


def _of_model(name: str, model: int) -> Object:
    return alternative(name, selectors=[f"device.attributes['{DRIVER}'].model == {model}"])


def _two_nodes(*slices: Object) -> SchedulingState:
    return cluster(*slices, nodes=[node("n1"), node("n2")])


def test_partition_that_costs_least() -> None:
    """A small partition goes where the half that is still whole stays whole."""
    halves = [device(f"half-{index}", consumesCounters=[_draw(2 * index, 2)]) for index in range(2)]
    quarters = [device(f"quarter-{index}", consumesCounters=[_draw(index, 1)]) for index in range(4)]
    sets = {"s": {f"m{index}": "1" for index in range(4)}}
    slices = [counter_slice(sets), slice_of(*quarters, *halves, count=2)]
    small = claim(exactly(selectors=["device.attributes['gpu.example.com'].?size.orValue(1) == 1"]))
    for each in halves:
        each["attributes"] = {"size": {"int": 2}}
    slices = [counter_slice(sets), slice_of(*quarters, *halves, count=2)]
    state = cluster(*slices, holders=[held("quarter-3")])
    assert taken(place(state, Mode.FIRST_FIT, small)) == ["r=quarter-0"]
    state = cluster(*slices, holders=[held("quarter-3")])
    assert taken(place(state, Mode.BEST_FIT, small)) == ["r=quarter-2"]


def _draw(start: int, size: int) -> Object:
    return draws("s", {f"m{place}": "1" for place in range(start, start + size)})


def test_unused_sets_stay_unused() -> None:
    """A set that is in use already is filled up before another is begun."""
    parts = [
        device(f"{name}-{index}", consumesCounters=[draws(name, {"m": "1"})])
        for name in "ab"
        for index in range(3)
    ]
    slices = [counter_slice({"a": {"m": "3"}, "b": {"m": "3"}}), slice_of(*parts, count=2)]
    state = cluster(*slices, holders=[held("b-0")])
    assert taken(place(state, Mode.BEST_FIT, claim(exactly()))) == ["r=b-1"]


def test_smallest_device_that_will_do() -> None:
    """A device with less capacity than another is taken if it is enough."""
    sizes = {"large": "80Gi", "small": "40Gi", "tiny": "10Gi"}
    devices = [device(name, capacity={"memory": {"value": value}}) for name, value in sizes.items()]
    enough = f"device.capacity['{DRIVER}'].memory.compareTo(quantity('20Gi')) > 0"
    state = cluster(slice_of(*devices))
    assert taken(place(state, Mode.BEST_FIT, claim(exactly(selectors=[enough])))) == ["r=small"]


def test_full_shared_devices_first() -> None:
    """Of shared devices the one with the least left that is enough is filled up."""
    shared = {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "80"}}}
    devices = [device(name, **shared) for name in ("a", "b", "c")]
    used = [
        held(name, name=name, shareID=f"share-{name}", consumedCapacity={"memory": amount})
        for name, amount in (("b", "40"), ("c", "75"))
    ]
    state = cluster(slice_of(*devices), holders=used)
    assert taken(place(state, Mode.BEST_FIT, claim(exactly(capacity={"memory": "10"})))) == ["r=b"]


def test_groups_stay_whole() -> None:
    """Whole topology groups are kept: groups that are in use already are used up first."""
    root = "resource.kubernetes.io/pcieRoot"
    devices = [device(f"{name}{index}", attributes={root: name}) for name in "ab" for index in range(2)]
    state = cluster(slice_of(*devices), holders=[held("b0")])
    assert taken(place(state, Mode.BEST_FIT, claim(exactly()))) == ["r=b1"]


def test_nodes_fill_up() -> None:
    """If nothing else differs, a node that is in use already comes first."""
    slices = [slice_of("d0", "d1", name=name, pool=name, nodeName=name) for name in ("n1", "n2")]
    state = _two_nodes(*slices)
    state.hold(records.Claim(held("d0", pool="n2")))
    assert taken(place(state, Mode.BEST_FIT, claim(exactly()))) == ["r=n2/d1"]


def test_errors_as_in_first_fit() -> None:
    """Where first-fit ends with an error, so does best-fit."""
    asked = claim(exactly(selectors=["device.attributes['a'].missing == 1"]))
    answers = [place(cluster(slice_of("d")), mode, asked) for mode in (Mode.FIRST_FIT, Mode.BEST_FIT)]
    assert not any(answer.placed for answer in answers)
    assert answers[0].nodes[0].error == answers[1].nodes[0].error != ""


@pytest.mark.parametrize("arrival", ARRIVALS)
@pytest.mark.parametrize("family", LAYOUTS)
def test_more_pods_fit(family: str, arrival: str) -> None:
    """On GPUs that can be partitioned more pods fit than with first-fit, where that does not place all of them."""
    for seed in range(2):
        profiles = wanted(16, LAYOUTS[family], arrival, Random(f"{family} {seed}"))
        numbers = []
        for mode in (Mode.FIRST_FIT, Mode.BEST_FIT):
            state = gpus(4, 4)
            placed = [
                state.place(list(pod.claims.values()), mode, UNLIMITED).placed for pod in pods(profiles)
            ]
            numbers.append(sum(map(bool, placed)))
        first, best = numbers
        assert best > first or best == first == len(profiles), (first, best, len(profiles))


def test_many_partitions() -> None:
    """A counter set with thousands of different partitions does not take long."""
    places = [f"m{index}" for index in range(32)]
    parts = [
        device(f"d{first}-{second}", consumesCounters=[draws("s", {places[first]: "1", places[second]: "1"})])
        for first in range(32)
        for second in range(first)
    ]
    slices = [slice_of(*parts[at : at + 64], name=f"s{at}", count=9) for at in range(0, len(parts), 64)]
    state = cluster(counter_slice({"s": dict.fromkeys(places, "1")}, count=9), *slices)
    assert taken(place(state, Mode.BEST_FIT, claim(exactly(count=3)))) is not None


def test_what_is_known_of_counter_sets_is_weighed() -> None:
    """A driver chooses how many counters there are, and their states are without number: 200,000 of 6 KiB were kept."""
    counters = range(200)
    shape = Shape(
        tuple(10**9 for _ in counters), (Variant(tuple((each, 10**9) for each in counters), frozenset(), ()),)
    )
    worths = Worths()
    tracemalloc.start()
    for number in range(3_000):
        state = CounterSetState(tuple(10**9 + number * 200 + each for each in counters), (1,), None)
        assert worths.of(shape, DRIVER).of(state, UNLIMITED) == 1
        if number == 1_000:
            taken = tracemalloc.get_traced_memory()[0]
            assert taken / 3 < worths._known.bytes < 3 * taken
    assert tracemalloc.get_traced_memory()[0] < 3 * MOST_BYTES
    tracemalloc.stop()


def test_what_is_known_of_counter_sets_ends_with_the_last_claim() -> None:
    state = gpus(1, 1)
    asked = claim(exactly("r"))
    state.put_claim(records.Claim(asked))
    assert place(state, Mode.BEST_FIT, asked).placed
    assert len(state._best_plans._worths._known) == 1
    state.remove_claim("ns", asked["metadata"]["name"])
    assert len(state._best_plans._worths._known) == 0
