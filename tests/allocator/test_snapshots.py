"""Compatibility groups that claims remember (KEP-5963), against what slices say now."""

from __future__ import annotations

import pytest

from allocator.features import GATES, Features
from allocator.scheduling import SchedulingState
from resourceapi.decoding import decode
from resourceapi.manifests import key_of
from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from tests.allocator.objects import (
    ALL_FEATURES,
    DRIVER,
    ask,
    claim,
    cluster,
    counter_slice,
    device,
    devices_of,
    draws,
    exactly,
    held,
    placed,
    slice_of,
    without,
)

KEP_OFF = without("DRADeviceCompatibilityGroups")
UPSTREAM = Features(GATES, group_snapshots=False)
UPSTREAM_OFF = Features(GATES - {"DRADeviceCompatibilityGroups"}, group_snapshots=False)


def part(name: str, groups: list[str] | None) -> Object:
    return device(name, consumesCounters=[draws("s", {"m": "1"}, groups)])


def pool(*devices: Object) -> list[Object]:
    return [counter_slice({"s": {"m": "9"}}), slice_of(*devices, count=2)]


def remembering(groups: list[str] | None) -> Object:
    """A claim that holds device `d` and remembers its groups on counter set `s`."""
    result: Object = {"request": "r", "driver": DRIVER, "pool": "pool", "device": "d"}
    if groups is not None:
        result["compatibilityGroups"] = {"s": groups}
    holder = {
        "metadata": {"name": "holder"},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }
    return decode(SCHEMAS_WITH_PROPOSALS["v1"], "ResourceClaim", holder).object


MIG_NOW, NONE_NOW = part("d", ["mig"]), part("d", None)
WANTED_MIG, WANTED_VGPU, WANTED_NONE = part("e", ["mig"]), part("e", ["vgpu"]), part("e", None)
CASES: dict[str, tuple[list[Object], list[str] | None, Features, bool]] = {
    "snapshot-over-slice": (pool(MIG_NOW, WANTED_VGPU), ["vgpu"], ALL_FEATURES, True),
    "snapshot-over-slice-refuses": (pool(MIG_NOW, WANTED_MIG), ["vgpu"], ALL_FEATURES, False),
    "snapshot-of-slice-without-groups": (pool(NONE_NOW, WANTED_NONE), ["mig"], ALL_FEATURES, False),
    # "It is present only when the allocated device's slice entry declares at least one group."
    "no-snapshot-no-groups": (pool(MIG_NOW, WANTED_NONE), None, ALL_FEATURES, True),
    "no-snapshot-no-groups-refuses": (pool(MIG_NOW, WANTED_MIG), None, ALL_FEATURES, False),
    "empty-list-no-groups": (pool(MIG_NOW, WANTED_NONE), [], ALL_FEATURES, True),
    "empty-list-no-groups-refuses": (pool(MIG_NOW, WANTED_MIG), [], ALL_FEATURES, False),
    "device-gone": (pool(WANTED_VGPU), ["mig"], ALL_FEATURES, False),
    "upstream-slice-decides": (pool(MIG_NOW, WANTED_MIG), ["vgpu"], UPSTREAM, True),
    "upstream-device-gone": (pool(WANTED_VGPU), ["mig"], UPSTREAM, True),
    "gate-off-device-skipped": (pool(WANTED_MIG), None, KEP_OFF, False),
    "gate-off-device-without-groups": (pool(MIG_NOW, WANTED_NONE), None, KEP_OFF, True),
    "gate-off-counter-set-blocked": (pool(NONE_NOW, WANTED_NONE), ["mig"], KEP_OFF, False),
    "gate-off-other-devices": (pool(MIG_NOW, device("e")), ["mig"], KEP_OFF, True),
    "upstream-gate-off-whole-pool": (pool(MIG_NOW, device("e")), None, UPSTREAM_OFF, False),
}


@pytest.mark.parametrize(("slices", "groups", "features", "fits"), CASES.values(), ids=CASES)
def test_snapshots(slices: list[Object], groups: list[str] | None, features: Features, fits: bool) -> None:
    """What a claim remembers is authoritative; without the gate nothing is taken that cannot be judged."""
    state = cluster(*slices, features=features, holders=[remembering(groups)])
    assert devices_of(ask(state, claim(exactly()))) == (["r=e"] if fits else None)


@pytest.mark.parametrize(("features", "written"), [(ALL_FEATURES, {"s": ["a", "b"]}), (UPSTREAM, None)])
def test_written(features: Features, written: Object | None) -> None:
    """The result has the groups of a device that declares some, and nothing for others."""
    state = cluster(*pool(part("d", ["b", "a"]), device("e")), features=features)
    answer = ask(state, claim(exactly(count=2)))
    assert answer.result is not None
    first, second = answer.result[0]["devices"]["results"]
    assert first.get("compatibilityGroups") == written
    assert "compatibilityGroups" not in second


def test_upgrade_downgrade_upgrade() -> None:
    """An allocation stays as it is; while the gate is off its counter set is blocked, then it is as before."""
    slices = pool(MIG_NOW, WANTED_MIG, part("f", None))
    holder = placed(cluster(*slices), claim(exactly(), name="holder"))
    before = holder["status"]["allocation"]
    for features, found in ((KEP_OFF, None), (ALL_FEATURES, ["r=e"])):
        state = cluster(*slices, features=features, holders=[holder])
        assert devices_of(ask(state, claim(exactly()))) == found
    assert holder["status"]["allocation"] == before


def test_released_snapshot_is_forgotten() -> None:
    """When the claim lets go of the device, its groups no longer count."""
    holder = remembering(["vgpu"])
    state = cluster(*pool(MIG_NOW, WANTED_MIG), holders=[holder])
    state.release(key_of(holder))
    assert devices_of(ask(state, claim(exactly(count=2)))) == ["r=d", "r=e"]


def shares(*snapshots: Object) -> list[Object]:
    """Claims with a share each of the device `d`."""
    return [
        held("d", name=f"h-{place}", shareID=f"share-{place}", compatibilityGroups=snapshot)
        for place, snapshot in enumerate(snapshots)
    ]


def joining(state: SchedulingState) -> list[str]:
    """Which of the devices `a`, `b` and `none` could be taken."""
    name = "device.attributes['gpu.example.com'].name"
    asked = {
        each: claim(exactly(selectors=[f"{name} == '{each}'"]), name=each) for each in ("a", "b", "none")
    }
    return [each for each, wanted in asked.items() if devices_of(ask(state, wanted))]


def named(name: str, groups: list[str] | None) -> Object:
    return part(name, groups) | {"attributes": {"name": {"string": name}}}


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("other", "found"),
    [({"s": ["a", "b"]}, ["b"]), ({"s": ["b"]}, ["b"]), ({"s": ["a"]}, []), ({}, []), ({"s": []}, [])],
)
def test_shares_with_different_snapshots(other: Object, found: list[str], swapped: bool) -> None:
    """Every share counts with what its own claim remembers; when that lets go, only the others do."""
    holders = shares({"s": ["b"]}, other)
    slices = pool(named("d", ["b"]) | {"allowMultipleAllocations": True}, *OTHERS)
    state = cluster(*slices, holders=holders[::-1] if swapped else holders)
    assert joining(state) == found
    state.release(key_of(holders[1]))
    assert joining(state) == ["b"]


OTHERS = (named("a", ["a"]), named("b", ["b"]), named("none", None))


@pytest.mark.parametrize(("features", "found"), [(ALL_FEATURES, False), (KEP_OFF, False), (UPSTREAM, True)])
def test_further_share_of_a_device_that_has_changed(features: Features, found: bool) -> None:
    """It joins the first shares, with the groups that the device declares now."""
    now = None if features is KEP_OFF else ["b"]
    slices = pool(part("d", now) | {"allowMultipleAllocations": True})
    state = cluster(*slices, features=features, holders=shares({"s": ["a"]}))
    assert devices_of(ask(state, claim(exactly()))) == (["r=d"] if found else None)


@pytest.mark.parametrize("holders", [("grouped", "plain"), ("plain", "grouped")])
def test_set_that_holds_both(holders: tuple[str, ...]) -> None:
    """Whoever was first: nothing goes with devices with groups and devices without."""
    claims = {"grouped": held("x", name="x", compatibilityGroups={"s": ["a"]}), "plain": held("y", name="y")}
    slices = pool(named("x", ["a"]), named("y", None), *OTHERS)
    assert joining(cluster(*slices, holders=[claims[each] for each in holders])) == []


def test_set_without_groups_of_a_device_with_groups_on_another() -> None:
    """It is remembered as such, even if the device goes."""
    both = device("d", consumesCounters=[draws("s", {"m": "1"}), draws("t", {"m": "1"}, ["a"])])
    counters = counter_slice({"s": {"m": "9"}, "t": {"m": "9"}})
    holder = placed(cluster(counters, slice_of(both, count=2)), claim(exactly(), name="holder"))
    [result] = holder["status"]["allocation"]["devices"]["results"]
    assert result["compatibilityGroups"] == {"s": [], "t": ["a"]}
    for slices in ([both, *OTHERS], list(OTHERS)):
        assert joining(cluster(counters, slice_of(*slices, count=2), holders=[holder])) == ["none"]
