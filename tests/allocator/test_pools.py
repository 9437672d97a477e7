"""Which pools a node sees, and in which state and order."""

from __future__ import annotations

import pytest

from allocator.features import GATES, Features
from allocator.inventory import Inventory
from allocator.pools import pools_of
from resourceapi.objects import Object
from resourceapi.records.pools import PoolId
from tests.allocator.objects import (
    ALL_FEATURES,
    ask,
    claim,
    cluster,
    counter_slice,
    device,
    device_class,
    draws,
    exactly,
    node,
    slice_of,
    without,
)

NODE = node("n", {"zone": "a"})
ZONE_A = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}
ZONE_B = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}]}


def seen(*slices: Object, features: Features = ALL_FEATURES) -> list[str]:
    """Of each pool `name: devices`, or what is wrong with it."""
    return [
        f"{pool.id.pool}: "
        + (
            "incomplete"
            if pool.incomplete
            else pool.invalid or " ".join(device.id.device for device in pool.devices)
        )
        for pool in pools_of(Inventory(slices, features.reading), NODE, features)
    ]


def of(name: str, *devices: str, count: int = 2, generation: int = 1, **spec: object) -> Object:
    return slice_of(*devices, name=name, count=count, generation=generation, **spec)  # type: ignore[arg-type]


CASES: dict[str, tuple[list[Object], list[str]]] = {
    "node-name": ([of("s", "d", count=1, nodeName="n")], ["pool: d"]),
    "other-node": ([of("s", "d", count=1, nodeName="m")], []),
    "selector": ([of("s", "d", count=1, nodeSelector=ZONE_A)], ["pool: d"]),
    "other-selector": ([of("s", "d", count=1, nodeSelector=ZONE_B)], []),
    "per-device": (
        [slice_of(device("d", nodeName="m"), device("e", allNodes=True), perDeviceNodeSelection=True)],
        ["pool: d e"],
    ),
    "per-device-none-here": ([slice_of(device("d", nodeName="m"), perDeviceNodeSelection=True)], []),
    "slices-by-name": ([of("b", "d"), of("a", "e")], ["pool: e d"]),
    "one-missing": ([of("a", "d")], ["pool: incomplete"]),
    "one-too-many": ([of("a", "d", count=1), of("b", "e", count=1)], ["pool: incomplete"]),
    "complete-with-another-node": ([of("a", "d"), of("b", "e", nodeName="m")], ["pool: d"]),
    "older-is-dropped": ([of("a", "d", count=1), of("b", "e", count=1, generation=2)], ["pool: e"]),
    "newer-elsewhere-unnoticed": (
        [of("a", "d", count=1), of("b", "e", count=1, generation=2, nodeName="m")],
        ["pool: d"],
    ),
    "newer-elsewhere-obsolete": ([of("a", "d"), of("b", "e", generation=2, nodeName="m")], []),
    "same-device-twice": ([of("a", "d"), of("b", "d")], ["pool: duplicate device name d"]),
    "same-device-on-other-node": ([of("a", "d"), of("b", "d", nodeName="m")], ["pool: d"]),
    "counter-set-twice": (
        [counter_slice({"s": {"m": "1"}}), counter_slice({"s": {"m": "1"}}, name="more")],
        ["pool: duplicate counter set name s"],
    ),
    "unknown-counter-set": (
        [slice_of(device("d", consumesCounters=[draws("s", {"m": "1"})]))],
        ["pool: counter set s not found"],
    ),
    "unknown-counter": (
        [
            counter_slice({"s": {"m": "1"}}),
            slice_of(device("d", consumesCounters=[draws("s", {"x": "1"})]), count=2),
        ],
        ["pool: counter x not found in counter set s"],
    ),
    "unknown-counter-elsewhere": (
        [of("a", "d"), slice_of(device("e", consumesCounters=[draws("s", {})]), count=2, nodeName="m")],
        ["pool: counter set s not found"],
    ),
    "by-driver-then-name": (
        [
            slice_of("d", name="1", pool="b"),
            slice_of("d", name="2", pool="B"),
            slice_of("d", name="3", pool="z", driver="a.example.com"),
        ],
        ["z: d", "B: d", "b: d"],
    ),
    "binding-conditions-last": (
        [
            slice_of(device("d", bindingConditions=[]), name="1", pool="a"),
            slice_of("d", name="2", pool="b"),
        ],
        ["b: d", "a: d"],
    ),
}


@pytest.mark.parametrize(("slices", "expected"), CASES.values(), ids=CASES)
def test_pools(slices: list[Object], expected: list[str]) -> None:
    """The newest generation that the node sees; complete with as many slices as the pool says it has."""
    assert seen(*slices) == expected


def test_partitionable_devices_off() -> None:
    """Slices with counters or per-device nodes are ignored, but they count for completeness."""
    features = without("DRAPartitionableDevices")
    assert seen(counter_slice({"s": {"m": "1"}}), of("a", "d"), features=features) == ["pool: d"]
    assert seen(slice_of(device("d", allNodes=True), perDeviceNodeSelection=True), features=features) == []


def test_compatibility_groups_off() -> None:
    """For kube-scheduler a slice with groups is as if it were not there, which makes its pool incomplete."""
    slices = [
        counter_slice({"s": {"m": "1"}}, count=3),
        slice_of(device("d", consumesCounters=[draws("s", {"m": "1"}, ["g"])]), count=3),
        of("other", "e", count=3),
    ]
    gates = GATES - {"DRADeviceCompatibilityGroups"}
    assert seen(*slices, features=Features(gates, group_snapshots=False)) == ["pool: incomplete"]
    assert seen(*slices, features=Features(gates)) == seen(*slices) == ["pool: e d"]


def test_stable_takes_slices_as_they_come() -> None:
    """The stable allocator does not sort them."""
    assert seen(of("b", "d"), of("a", "e"), features=Features(["DRAPartitionableDevices"])) == ["pool: d e"]


STABLE_COUNTERS = {
    "complete-without-any-device": ([{"nodeName": "other"}], ["pool: "]),
    "incomplete": ([{"nodeName": "other", "count": 3}], ["pool: incomplete"]),
    "invalid": (
        [{"nodeName": "other"}, {"nodeName": "other", "name": "again"}],
        ["pool: duplicate counter set name s"],
    ),
    "newer-than-the-devices": (
        [{"nodeName": "n"}, {"nodeName": "other", "generation": 2, "count": 1}],
        ["pool: "],
    ),
}


@pytest.mark.parametrize(("counters", "expected"), STABLE_COUNTERS.values(), ids=STABLE_COUNTERS)
def test_stable_takes_counters_of_all_nodes(counters: list[Object], expected: list[str]) -> None:
    """Slices with counters count everywhere, so nodes see pools of which they have no device; others do not."""
    slices = [
        *(counter_slice({"s": {"m": "1"}}, **each) for each in counters),
        of("devices", "d", nodeName="other", count=2),
    ]
    assert seen(*slices, features=Features(["DRAPartitionableDevices"])) == expected
    if not any(each["nodeName"] == "n" for each in counters):
        assert seen(*slices) == []


def test_inventory_changes() -> None:
    """A slice can be replaced, moved to another pool or node, and removed; nothing is left behind."""
    inventory = Inventory([slice_of("d", name="s", nodeName="n")])
    inventory.put(slice_of("e", name="s", nodeName="n"))
    assert [each.id.device for each in pools_of(inventory, NODE, ALL_FEATURES)[0].devices] == ["e"]
    inventory.put(slice_of("e", name="s", pool="q"))
    assert [pool.id.pool for pool in pools_of(inventory, NODE, ALL_FEATURES)] == ["q"]
    assert list(inventory.candidates("n")) == list(inventory)
    inventory.remove("s")
    inventory.remove("s")
    assert list(inventory) == list(inventory.candidates("n")) == []
    assert list(inventory.of_pool(PoolId("gpu.example.com", "q"))) == []


@pytest.mark.parametrize(
    ("minor", "selector", "ends"),
    [
        (32, 'device.driver == "gpu.example.com"', False),
        (32, "true", True),
        (33, 'device.driver == "gpu.example.com"', True),
        (34, 'device.driver == "gpu.example.com"', True),
        (35, "true", False),
    ],
    ids=["32-not-selected", "32-selected", "33", "34", "35"],
)
def test_search_ends_at_a_pool_that_is_not_valid(minor: int, selector: str, *, ends: bool) -> None:
    """Before 1.35 with the first device that it comes to, in 1.32 with the first that it could use."""
    state = cluster(
        slice_of("twice", name="a1", pool="a", driver="an.example.com", count=2),
        slice_of("twice", name="a2", pool="a", driver="an.example.com", count=2),
        slice_of("d", name="b", pool="b"),
        classes=[device_class(selectors=[selector])],
        features=Features(minor=minor),
    )
    error = ask(state, claim(exactly())).error
    assert error == ("pool a is invalid: duplicate device name twice" if ends else "")
