"""Simulations end in time: a pod that takes too long is undecided, and so are all later ones when the whole time is over.

The clock of these tests counts how often it is looked at, once for each kind of node and each step of a long search.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from math import inf
from random import Random
from typing import Any

import pytest

from allocator import demand
from allocator.attempt import Attempt
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.errors import OUT_OF_TIME
from allocator.expansion import Template, expand
from allocator.nodes import Nodes
from allocator.packing import pack
from allocator.pod_nodes import excluded
from allocator.rules.standing import ExclusiveUse
from allocator.scheduling import Mode, SchedulingState
from allocator.shared_pools import SharedPools
from allocator.simulation import UNHURRIED, Limits, Pod, Simulation
from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
from resourceapi.node_selection import selects
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from tests.allocator import scenes
from tests.allocator.objects import (
    alternative,
    claim,
    cluster,
    device,
    device_class,
    exactly,
    first_of,
    node,
    slice_of,
)
from tests.allocator.scenes import claims_of, slices_of

MODES = [Mode.ATTEMPT, Mode.BEST_FIT]


def looks(number: float) -> TimeLimit:
    """A time limit that is over after a number of checks."""
    clock = count()
    return TimeLimit(number, lambda: float(next(clock)))


def hard() -> tuple[SchedulingState, Pod, Pod]:
    """A cluster, a pod for which the search takes many steps, and one for which it takes none."""
    scene = scenes.partitions(3, Random(1))
    claims = {f"ns/{each['metadata']['name']}": Claim(each) for each in claims_of(scene)}
    easy = claim(exactly(), name="easy")
    return cluster(*slices_of(scene)), Pod("hard", claims), Pod("easy", {"ns/easy": Claim(easy)})


def test_parts_of_a_budget() -> None:
    """The time for a part is over when the whole time is."""
    now = [0.0]
    whole = TimeLimit(10, lambda: now[0])
    short, long = whole.part(3), whole.part(20)
    for time, over in ((3, [False, False, False]), (4, [True, False, False]), (11, [True, True, True])):
        now[0] = time
        assert [each.is_over for each in (short, long, whole)] == over
    with pytest.raises(OutOfTime):
        long.check()


def test_shares_of_a_budget() -> None:
    """Equal parts of what is left, or a least time, but never more than is left."""
    now = [0.0]
    whole = TimeLimit(10, lambda: now[0])
    now[0] = 2.0
    half, most = whole.share(2), whole.share(100, least=3)
    now[0] = 9.0
    last = whole.share(100, least=3)
    for limit, end in ((half, 6.0), (most, 5.0), (last, 10.0), (TimeLimit().share(2), inf)):
        now[0] = end
        assert not limit.is_over
        now[0] = end + 0.1
        assert limit.is_over == (end != inf)


@pytest.mark.parametrize("mode", MODES)
def test_pod_out_of_time(mode: Mode) -> None:
    """It gets nothing, and the next one is placed."""
    state, slow, easy = hard()
    first, second = Simulation(state, limits=Limits(looks(inf), 80)).run([slow, easy], mode)
    assert (first.node, first.undecided, first.results) == ("", True, {})
    assert first.error == "not decided within 80 seconds whether it fits"
    assert (second.node, second.undecided) == ("n", False)


def test_with_time_it_is_decided() -> None:
    """The same pod without a time limit."""
    state, slow, _ = hard()
    (found,) = Simulation(state, UNHURRIED).run([slow], Mode.ATTEMPT)
    assert not found.undecided


@pytest.mark.parametrize("mode", MODES)
def test_all_time_over(mode: Mode) -> None:
    """Neither easy nor hard pods are decided any more."""
    state, slow, easy = hard()
    found = Simulation(state, limits=Limits(looks(3))).run([slow, easy, easy], mode)
    assert [each.undecided for each in found] == [True, True, True]
    assert {each.error for each in found} == {
        "the time for all pods was over before it was decided whether it fits"
    }


def test_batch_out_of_time() -> None:
    """Packing ends with the best placements so far."""
    state, slow, easy = hard()
    found = pack(Simulation(state, limits=Limits(looks(2))), [slow, easy])
    assert [(each.pod, each.undecided) for each in found] == [("hard", True), ("easy", True)]


def test_new_nodes_out_of_time() -> None:
    """Pods that were not tried do not count as misfits."""
    template = Template(node("new"), (slice_of("d"),))
    pods = [
        Pod(f"p{number}", {f"ns/c{number}": Claim(claim(exactly(), name=f"c{number}"))})
        for number in range(4)
    ]
    done = expand(cluster, pods, [template], Mode.ATTEMPT, limits=Limits(looks(inf)))
    assert (done.complete, done.options[0].total, list(done.options[0].left)) == (True, 4, [])
    cut = expand(cluster, pods, [template], Mode.ATTEMPT, limits=Limits(looks(9)))
    assert not cut.complete
    assert len(cut.options[0].left) > 0


def test_easy_search_out_of_time() -> None:
    """Also a search that needs few steps looks at the time: a step may take long where devices are many."""
    devices = [device("small"), device("large", attributes={"large": True})]
    asked = claim(
        exactly("any"), exactly("small", selectors=["!('large' in device.attributes['gpu.example.com'])"])
    )
    state = cluster(slice_of(*devices))
    with pytest.raises(OutOfTime):
        state.place([Claim(asked)], Mode.ALL_NODES, looks(1))
    assert state.place([Claim(asked)], Mode.ALL_NODES, UNLIMITED).nodes[0].fits


@pytest.mark.parametrize("requests", [3, 8], ids=["few", "more than devices"])
def test_time_is_looked_at_for_each_alternative(monkeypatch: pytest.MonkeyPatch, requests: int) -> None:
    """However many claims, alternatives and devices there are: between two looks all devices are gone through once at most."""
    devices, done = 30, Counter[str]()
    admits = ExclusiveUse.admits

    def counted(attempt: Attempt, asked: Alternative, looked_at: Device) -> bool:
        done["looks at devices"] += 1
        return admits(attempt, asked, looked_at)

    monkeypatch.setattr(ExclusiveUse, "admits", staticmethod(counted))
    state = cluster(slice_of(*(device(f"d{number}") for number in range(devices))))
    lists = [
        first_of(f"r{number}", *(alternative(f"s{each}", selectors=["true"]) for each in range(8)))
        for number in range(requests)
    ]
    asked = [claim(*lists, name=f"c{number}") for number in range(4)]
    for most in range(0, 10_000, 500):
        done.clear()
        limit = TimeLimit(most, lambda: float(done["looks at devices"]))
        with suppress(OutOfTime):
            state.place([Claim(each) for each in asked], Mode.ALL_NODES, limit)
        assert done["looks at devices"] <= most + 2 * devices


def reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], TimeLimit]:
    """Limits after which so many more requests of claims have been read."""
    read, done = demand._read_request, Counter[str]()

    def counted(*arguments: Any) -> demand.RequestDemand:
        done["requests"] += 1
        return read(*arguments)

    monkeypatch.setattr(demand, "_read_request", counted)
    return lambda requests: TimeLimit(requests, lambda: float(done["requests"]))


def large_claims(number: int, requests: int = 4) -> list[Object]:
    """Claims of which no two ask for the same."""
    return [
        claim(
            *[exactly(f"r{place}", selectors=[f'device.driver != "{each}"']) for place in range(requests)],
            name=f"c{each}",
        )
        for each in range(number)
    ]


@pytest.mark.parametrize("best_fit", [False, True])
def test_each_try_reads_on(monkeypatch: pytest.MonkeyPatch, best_fit: bool) -> None:
    """A pod whose claims take longer to read than there is time is decided after some tries, and can be bound then."""
    limit = reading(monkeypatch)
    state = cluster(slice_of(*(device(f"d{number}") for number in range(24))))
    asked = large_claims(6)
    tries, fits, weights = 0, False, [0]
    while not fits:
        tries += 1
        assert tries <= 6
        (answer,) = state.filter([Claim(each) for each in asked], limit(5), best_fit=best_fit).nodes
        assert answer.fits or answer.error == OUT_OF_TIME
        fits = answer.fits
        weights.append(state._plans._plans.bytes)
    assert tries > 3
    assert weights == sorted(set(weights))
    assert answer.result is not None
    assert state.still_fits([Claim(each) for each in asked], "n", answer.result, limit(0))
    for each in asked:
        state.remove_claim("ns", each["metadata"]["name"])
    assert state._plans._plans.bytes == 0


def test_one_node_does_not_wait_for_what_others_see(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver replaces a slice for all nodes, which see different slices besides: a bind only has to look at its own node again."""
    most, nodes = 20, [node(f"n{place}", {"place": str(place)}) for place in range(50)]

    def elsewhere(place: int) -> Object:
        where = {"key": "place", "operator": "NotIn", "values": [str(place)]}
        return {"nodeSelectorTerms": [{"matchExpressions": [where]}]}

    slices = [
        slice_of("d", name=f"s{place}", pool=f"p{place}", nodeSelector=elsewhere(place))
        for place in range(50)
    ]
    state = cluster(*slices, slice_of("d", name="all", pool="all"), nodes=nodes)
    asked = [Claim(claim(exactly()))]
    answer = state.filter(asked, UNLIMITED).nodes[7]
    assert answer.result is not None
    fill, looked = Nodes._fill, list[SharedPools]()

    def counted(known: Nodes, shared: SharedPools) -> bool:
        looked.append(shared)
        return fill(known, shared)

    monkeypatch.setattr(Nodes, "_fill", counted)
    state.put_slice(slice_of("d", "new", name="all", pool="all"))
    assert state.still_fits(asked, "n7", answer.result, looks(4 * most))
    assert 1 <= len(looked) <= most
    assert state.filter(asked, UNLIMITED).nodes[7].fits


def test_classes_have_claims_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before a class changed does not count."""
    limit = reading(monkeypatch)
    state = cluster(slice_of(*(device(f"d{number}") for number in range(24))))
    asked = large_claims(6)
    for _ in range(3):
        state.filter([Claim(each) for each in asked], limit(5))
    state.put_class(device_class("any", ["false"]))
    assert not state._plans._plans.bytes
    assert not state.filter([Claim(each) for each in asked], UNLIMITED).nodes[0].fits


def test_pods_with_much_affinity_are_late() -> None:
    """Which nodes a pod excludes is not found out any more once the time is over; the pod is undecided then."""
    nodes = [node(f"n{i}") for i in range(100)]
    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
    spec = {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }
    }
    assert len(excluded(spec, nodes, looks(100))) == 100
    with pytest.raises(OutOfTime):
        excluded(spec, nodes, looks(99))
    late = Pod("p", {"ns/c": Claim(claim(exactly()))}, late=True)
    simulation = Simulation(cluster(slice_of("d")), UNHURRIED)
    (found,) = simulation.run([late], Mode.ATTEMPT)
    assert (found.undecided, found.node, simulation.weigh(late)) == (True, "", None)


def test_what_is_left_is_not_found_out_late() -> None:
    """Once the time is over, nobody looks at what is left on nodes that have not been looked at."""
    state = cluster(slice_of("d"), nodes=[node(f"n{i}") for i in range(100)])
    with pytest.raises(OutOfTime):
        state.pools(looks(99))
    known = state.pools(UNLIMITED)
    assert state.pools(looks(0)) == known
    assert known


def test_claims_elsewhere_are_not_looked_for_late() -> None:
    """Allocated claims may be available on nodes that thousands of requirements select."""
    state = cluster(slice_of("d"), nodes=[node(f"n{i}") for i in range(100)])
    selector = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
    away = claim(exactly()) | {"status": {"allocation": {"nodeSelector": selector}}}
    with pytest.raises(OutOfTime):
        state.place([Claim(away)], Mode.ALL_NODES, looks(50))


def test_time_is_looked_at_for_each_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a node sees is not found out any more once the time is over: a slice may select it by thousands of requirements."""
    done = Counter[str]()

    def counted(selector: Object, node: Node) -> bool:
        done["selectors"] += 1
        return selects(selector, node)

    monkeypatch.setattr("allocator.devices.selects", counted)
    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
    state = cluster(
        slice_of("d", nodeSelector={"nodeSelectorTerms": terms}), nodes=[node(f"n{i}") for i in range(100)]
    )
    limit = TimeLimit(10, lambda: float(done["selectors"]))
    with pytest.raises(OutOfTime):
        state.place([Claim(claim(exactly()))], Mode.ALL_NODES, limit)
    assert done["selectors"] <= 11
    done.clear()
    state.warm_up(TimeLimit(10, lambda: float(done["selectors"])))
    assert 0 < done["selectors"] <= 11
