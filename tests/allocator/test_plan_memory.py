"""What plans take is weighed, belongs to the namespace of the claims, and ends with the last of them."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator, Sequence
from random import Random
from weakref import ref

import pytest

from allocator import plans
from allocator.scheduling import SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.objects import (
    alternative,
    cluster,
    decoded,
    device,
    first_of,
    node,
    slice_of,
)


def claim(name: str, namespace: str = "one", requests: int = 8, content: str = "") -> Object:
    """A claim with many alternatives; its content is its own unless it is given."""
    selector = f'device.driver != "{content or namespace + name}"'
    listed = [
        first_of(f"r{request}", *[alternative(f"s{place}", selectors=[selector] * 2) for place in range(8)])
        for request in range(requests)
    ]
    metadata = {"name": name, "namespace": namespace}
    return decoded("ResourceClaim", {"metadata": metadata, "spec": {"devices": {"requests": listed}}})


def state_of(nodes: int = 4, devices: int = 8) -> SchedulingState:
    """Nodes with devices of their own, of which no two are alike."""
    names = [f"n{place}" for place in range(nodes)]
    slices = [
        slice_of(
            *[device(f"d{place}", attributes={"serial": f"{name}-{place}"}) for place in range(devices)],
            name=name,
            pool=name,
            nodeName=name,
        )
        for name in names
    ]
    return cluster(*slices, nodes=[node(name) for name in names])


def weight(state: SchedulingState) -> int:
    return state._plans._plans.bytes


@pytest.fixture
def _counted() -> Iterator[None]:
    """Only memory comes back to which nothing refers, and all that is taken is counted."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


@pytest.mark.usefixtures("_counted")
@pytest.mark.parametrize(
    ("claims", "requests", "pods", "nodes", "devices"),
    [(1, 1, 50, 2, 2), (1, 32, 4, 2, 40), (10, 8, 1, 3, 8), (2, 1, 1, 60, 8), (4, 1, 3, 20, 16)],
)
def test_weight_is_about_the_memory(claims: int, requests: int, pods: int, nodes: int, devices: int) -> None:
    """Within a factor of three: of plans of any kind, none of which have claims in common."""
    state = state_of(nodes, devices)
    state.warm_up()
    state.filter([Claim(claim("first"))], UNLIMITED)
    state.remove_claim("one", "first")
    assert weight(state) == 0
    before = tracemalloc.get_traced_memory()[0]
    for pod in range(pods):
        answer = state.filter(
            [Claim(claim(f"c{pod}-{place}", requests=requests)) for place in range(claims)], UNLIMITED
        )
        del answer
    taken = tracemalloc.get_traced_memory()[0] - before
    assert len(state._plans._plans) == pods
    assert taken / 3 < weight(state) < taken * 3


@pytest.mark.usefixtures("_counted")
def test_pods_share_what_claims_ask_for() -> None:
    """Pods that name the same claims in other orders have a plan each, and what a claim asks for is there once."""
    state, claims = state_of(), [claim(f"c{place}") for place in range(20)]
    before = tracemalloc.get_traced_memory()[0]
    state.filter([Claim(each) for each in claims], UNLIMITED)
    of_one = tracemalloc.get_traced_memory()[0] - before
    for pod in range(9):
        state.filter(Random(pod).sample([Claim(each) for each in claims], len(claims)), UNLIMITED)
    assert len(state._plans._plans) == 10
    assert weight(state) > 9 * of_one / 3
    assert tracemalloc.get_traced_memory()[0] - before < 3 * of_one


def test_plans_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A namespace that asks for more and more makes room itself: searches of others stay known."""
    state = state_of()
    state.filter([Claim(claim("victim", "other"))], UNLIMITED)
    known = weight(state)
    state._plans._plans.most_bytes = 6 * known
    for place in range(50):
        state.filter([Claim(claim(f"c{place}")), Claim(claim(f"d{place}"))], UNLIMITED)
        assert weight(state) <= 6 * known
    searches = state.effort.searches
    state.filter([Claim(claim("victim", "other"))], UNLIMITED)
    assert state.effort.searches == searches


@pytest.mark.usefixtures("_counted")
def test_plans_end_with_their_last_claim() -> None:
    """At once, without a garbage collection; a claim of the same content keeps it, whatever its name and namespace is."""
    state = state_of()
    pair = [claim("a", content="same"), claim("b", "two", content="same"), claim("c")]
    for each in pair:
        state.put_claim(Claim(each))
    state.filter([Claim(each) for each in pair[:1]], UNLIMITED)
    state.filter([Claim(pair[1]), Claim(pair[2])], UNLIMITED)
    demands = [ref(demand) for plan in plans_of(state) for demand in plan.demand]
    assert len({demand() for demand in demands}) == 2
    state.remove_claim("one", "a")
    assert len(plans_of(state)) == 2
    state.remove_claim("one", "c")
    assert len(plans_of(state)) == 1
    state.remove_claim("two", "b")
    assert not plans_of(state)
    assert [demand() for demand in demands] == [None] * 3
    assert not state._contents._claims
    assert not state._contents._by_digest
    assert not state._plans._with


def plans_of(state: SchedulingState) -> Sequence[plans.Plan]:
    cache = state._plans._plans
    return [plan for key in list(cache._entries) if (plan := cache.get(key)) is not None]


def test_a_name_may_come_again() -> None:
    """A claim of the same name with another content is asked for anew, and the earlier content ends."""
    state = state_of()
    state.filter([Claim(claim("a", content="before"))], UNLIMITED)
    state.filter([Claim(claim("a", content="after"))], UNLIMITED)
    assert len(plans_of(state)) == 1
    state.remove_claim("one", "a")
    assert not plans_of(state)


def test_equal_claims_of_a_pod_get_devices_of_their_own() -> None:
    """Claims of one content are as many as there are."""
    state = state_of(1, 3)
    for number, fits in ((3, True), (4, False)):
        pod = [claim(f"c{place}", requests=1, content="same") for place in range(number)]
        answer = state.filter([Claim(each) for each in pod], UNLIMITED).nodes[0]
        assert answer.fits == fits
        devices = [each["devices"]["results"][0]["device"] for each in answer.result or ()]
        assert devices == (["d0", "d1", "d2"] if fits else [])


@pytest.mark.usefixtures("_counted")
def test_devices_that_are_gone_are_forgotten() -> None:
    """Plans keep neither devices nor nodes alive: drivers may publish others every second, while claims wait."""
    state = state_of(2, 8)
    asked = [claim("a")]
    state.put_claim(Claim(asked[0]))

    def publish(version: int) -> None:
        for name in ("n0", "n1"):
            devices = [
                device(f"d{place}", attributes={"text": "x" * 60 + str(version)}) for place in range(32)
            ]
            state.put_slice(slice_of(*devices, name=name, pool=name, nodeName=name))
        state.filter([Claim(each) for each in asked], UNLIMITED)

    for version in range(5):
        publish(version)
    before = tracemalloc.get_traced_memory()[0]
    known = weight(state)
    for version in range(5, 105):
        publish(version)
    taken, weighed = tracemalloc.get_traced_memory()[0] - before, weight(state) - known
    assert taken < 3 * weighed
