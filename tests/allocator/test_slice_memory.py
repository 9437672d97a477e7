"""What drivers publish takes memory in proportion to its bytes, however many nodes see it, and each of them another part of it."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from allocator.features import GATES, Features
from allocator.scheduling import SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.manifests import key_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from tests.allocator.objects import claim, cluster, counters, decoded, exactly, node

NODES, SLICES, DEVICES = 300, 40, 64
#: Bytes of memory for each byte of JSON: devices alone take some twenty times their text.
FACTOR = 40


def slice_of(number: int, count: int, devices: list[Object], pool: str = "big", **spec: Any) -> Object:
    """One of so many slices of a pool."""
    spec |= {"driver": "driver.example.com", "devices": devices}
    spec |= {"pool": {"name": pool, "generation": 1, "resourceSliceCount": count}}
    return decoded("ResourceSlice", {"metadata": {"name": f"{pool}-{number}"}, "spec": spec})


def devices(
    number: int, more: Callable[[int], Object] = lambda place: {}, count: int = DEVICES
) -> list[Object]:
    return [{"name": f"d{number}-{place}", **more(number * count + place)} for place in range(count)]


def not_on(number: int) -> Object:
    """A node selector that tells nodes apart."""
    names = [f"node-{place}" for place in range(number * 5, number * 5 + 5)]
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": names}]}]
    return {"nodeSelectorTerms": terms}


def one_node_each() -> list[Object]:
    where: Object = {"perDeviceNodeSelection": True}
    return [
        slice_of(each, SLICES, devices(each, lambda place: {"nodeName": f"node-{place % NODES}"}), **where)
        for each in range(SLICES)
    ]


def one_node_or_all() -> list[Object]:
    """Every node sees every slice, and no two of them the same devices."""

    def place_of(place: int) -> Object:
        return {"allNodes": True} if place % 2 else {"nodeName": f"node-{place % NODES}"}

    return [
        slice_of(each, SLICES, devices(each, place_of), perDeviceNodeSelection=True) for each in range(SLICES)
    ]


def selected_devices() -> list[Object]:
    where: Object = {"perDeviceNodeSelection": True}
    return [
        slice_of(each, SLICES, devices(each, lambda place: {"nodeSelector": not_on(place)}, 8), **where)
        for each in range(SLICES)
    ]


def selected_slices() -> list[Object]:
    return [slice_of(each, SLICES, devices(each), nodeSelector=not_on(each)) for each in range(SLICES)]


def selected_pools() -> list[Object]:
    return [
        slice_of(each, 1, devices(each, count=8), f"pool-{each}", nodeSelector=not_on(each))
        for each in range(SLICES)
    ]


def pools_of_all() -> list[Object]:
    return [
        slice_of(each, 1, devices(each, count=8), f"pool-{each}", allNodes=True) for each in range(SLICES)
    ]


def beside_those_of_nodes() -> list[Object]:
    """A pool that is each node's own, and all of it is seen by all nodes."""
    count = SLICES + NODES
    own = [
        slice_of(SLICES + each, count, devices(SLICES + each, count=1), nodeName=f"node-{each}")
        for each in range(NODES)
    ]
    return [*own, *[slice_of(each, count, devices(each), allNodes=True) for each in range(SLICES)]]


def taints() -> list[Object]:
    def tainted(place: int) -> Object:
        keys = [f"example.com/key-{key}" for key in range(16)]
        return {"taints": [{"key": key, "value": f"v{place}", "effect": "NoSchedule"} for key in keys]}

    return [slice_of(each, SLICES, devices(each, tainted), allNodes=True) for each in range(SLICES)]


def shared_counters() -> list[Object]:
    names = [f"counter-{place}" for place in range(32)]
    sets = [
        slice_of(
            each,
            SLICES,
            [],
            allNodes=True,
            sharedCounters=[
                {"name": f"set-{each}-{place}", "counters": counters(dict.fromkeys(names, "100"))}
                for place in range(8)
            ],
        )
        for each in range(SLICES // 2)
    ]

    def draws(place: int) -> Object:
        return {
            "consumesCounters": [
                {"counterSet": f"set-{place % (SLICES // 2)}-0", "counters": counters({"counter-0": "1"})}
            ]
        }

    return [
        *sets,
        *[slice_of(each, SLICES, devices(each, draws), allNodes=True) for each in range(SLICES // 2, SLICES)],
    ]


def counters_of_nodes(count: int = SLICES + NODES) -> list[Object]:
    """A pool that is each node's own, with counters for all of them; no two nodes are alike."""

    def draws(place: int) -> Object:
        drawn = [{"counterSet": f"set-{place % SLICES}-0", "counters": counters({"counter-0": "1"})}]
        return {"consumesCounters": drawn, "attributes": {"serial": {"int": place}}}

    names = [f"counter-{place}" for place in range(32)]
    sets = [
        [
            {"name": f"set-{each}-{place}", "counters": counters(dict.fromkeys(names, "100"))}
            for place in range(8)
        ]
        for each in range(SLICES)
    ]
    return [
        *[slice_of(each, count, [], allNodes=True, sharedCounters=sets[each]) for each in range(SLICES)],
        *[
            slice_of(SLICES + each, count, devices(SLICES + each, draws, 1), nodeName=f"node-{each}")
            for each in range(NODES)
        ],
    ]


def counters_of_miscounted_nodes() -> list[Object]:
    """The same where each slice says that there are no slices for other nodes."""
    return counters_of_nodes(SLICES + 1)


KINDS = (
    one_node_each,
    one_node_or_all,
    selected_devices,
    selected_slices,
    selected_pools,
    pools_of_all,
    beside_those_of_nodes,
    taints,
    shared_counters,
    counters_of_nodes,
    counters_of_miscounted_nodes,
)


@pytest.fixture
def _counted() -> Iterator[None]:
    """Only memory comes back to which nothing refers, and all that is taken is counted."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    yield
    tracemalloc.stop()
    gc.enable()


def nodes() -> list[Node]:
    names = [f"node-{place}" for place in range(NODES)]
    return [node(name, {"kubernetes.io/hostname": name}) for name in names]


def look(state: SchedulingState) -> None:
    """Have it look at what every node sees, and filter a pod."""
    state.warm_up()
    state.filter([Claim(claim(exactly()))], UNLIMITED)


@pytest.mark.usefixtures("_counted")
@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_in_proportion_to_the_bytes(kind: Callable[[], list[Object]]) -> None:
    """And it comes back when the slices go."""
    features = Features(GATES)
    state = cluster(slice_of(0, 1, devices(0), "first", allNodes=True), features=features, nodes=nodes())
    look(state)
    before = tracemalloc.get_traced_memory()[0]
    slices = kind()
    size = sum(len(json.dumps(each, default=str)) for each in slices)
    own = tracemalloc.get_traced_memory()[0] - before
    for each in slices:
        state.put_slice(each)
    look(state)
    taken = tracemalloc.get_traced_memory()[0] - before - own
    assert taken < FACTOR * size
    names = [each["metadata"]["name"] for each in slices]
    del slices, each
    for name in names:
        state.remove_slice(name)
    look(state)
    assert tracemalloc.get_traced_memory()[0] - before < taken / 2


@pytest.mark.usefixtures("_counted")
def test_claims_that_are_gone_leave_little_with_capacities() -> None:
    """However many other amounts were asked for: so is it in proportion to the bytes of slices."""
    names = [f"c{place}" for place in range(8)]

    def shared(place: int) -> Object:
        policy = {"default": "1", "validRange": {"min": "1"}}
        own = {"value": str(10**9 + place), "requestPolicy": policy}
        return {"allowMultipleAllocations": True, "capacity": dict.fromkeys(names, own)}

    published = slice_of(0, 1, devices(0, shared), allNodes=True)
    size = len(json.dumps(published, default=str))
    state = cluster(published, features=Features(GATES), nodes=[node("n")])
    look(state)
    before = tracemalloc.get_traced_memory()[0]
    for number in range(100):
        amounts = {name: str(10 * number + place + 1) for place, name in enumerate(names)}
        wanted = claim(exactly(capacity={**amounts, names[-1]: str(10**10 + number)}))
        answer = state.filter([Claim(wanted)], UNLIMITED)
        assert not any(each.fits for each in answer.nodes.outcomes)
        state.remove_claim(*key_of(wanted).split("/"))
    del answer, wanted
    assert tracemalloc.get_traced_memory()[0] - before < FACTOR * size
