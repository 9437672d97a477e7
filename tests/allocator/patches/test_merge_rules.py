"""The rules by which patches and DeviceTaintRules are merged into devices."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from allocator.features import Features
from allocator.inventory import Inventory
from allocator.patches import PatchFailure, merged_slices
from allocator.patches.sources import Given, Giver
from allocator.scheduling import Mode
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pools import DeviceId
from tests.allocator.objects import (
    ALL_FEATURES,
    DRIVER,
    claim,
    cluster,
    device_class,
    exactly,
    slice_of,
    without,
)
from tests.allocator.patches.objects import attribute, patch
from tests.allocator.patches.objects import rule as taint_rule
from tests.case_files import read_yaml

CASES = read_yaml(Path(__file__).with_name("merge_rules.yaml"))
DEVICE = DeviceId(DRIVER, "pool", "d")


class Scene:
    """The objects of a case."""

    def __init__(self, case: Object) -> None:
        fields = case.get("device", {})
        device: Object = {"name": "d", "attributes": _attributes(fields), "capacity": _capacity(fields)}
        self.slice = slice_of(device | {"taints": fields.get("taints", [])})
        self.patches = [patch(**each) for each in case.get("patches", ())]
        self.rules = [taint_rule(name, selector, key=name) for name, selector in case.get("rules", ())]
        self.classes = {
            name: device_class(name, selectors) for name, selectors in case.get("classes", {}).items()
        }

    def inventory(self, *, slices_first: bool = True) -> Inventory:
        inventory = Inventory([self.slice] if slices_first else ())
        for each in self.patches:
            inventory.put_patch(each)
        for rule in self.rules:
            inventory.put_rule(rule)
        for known in self.classes.values():
            inventory.put_class(known)
        if not slices_first:
            inventory.put(self.slice)
        return inventory

    def merged(self, features: Features = ALL_FEATURES) -> Object:
        (found,) = merged_slices([self.slice], self.patches, self.rules, self.classes, features)
        return found


def _attributes(fields: Object) -> Object:
    return {name: attribute(value) for name, value in fields.get("attributes", {}).items()}


def _capacity(fields: Object) -> Object:
    entries = fields.get("capacity", {})
    return {name: value if isinstance(value, dict) else {"value": value} for name, value in entries.items()}


def _texts(capacity: Mapping[str, Object]) -> Object:
    """Capacity with quantities as texts."""
    return {name: _text(entry) for name, entry in capacity.items()}


def _text(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _text(each) for name, each in value.items()}
    return value if isinstance(value, (str, list, bool)) else str(value)


@pytest.mark.parametrize("case", CASES, ids=[case["name"].replace(" ", "-") for case in CASES])
def test_rule(case: Object) -> None:
    """What is left of a device, who gives it, and which patches fail; whatever came first."""
    scene = Scene(case)
    for slices_first in (True, False):
        inventory = scene.inventory(slices_first=slices_first)
        ((device,),) = [slice.devices for slice in inventory]
        assert device.attributes == _attributes(case)
        assert _texts(device.capacity) == _capacity(case)
        assert [taint.key for taint in device.taints] == [key for key, _ in case.get("taints", ())]
        failures = {
            name: [failure.device and failure.device.device, failure.devices, failure.reason]
            for name, failure in inventory.failures.items()
        }
        assert failures == case.get("failures", {})
        sources = inventory.sources_of(DEVICE)
        assert sources is not None
        assert [[taint.value["key"], _by(taint.giver)] for taint in sources.taints] == case.get("taints", [])
        given = {**sources.attributes, **sources.capacity}
        for name, expected in case.get("from", {}).items():
            assert [_by(given[name].giver), *_hidden(given[name])] == expected
        assert {name for name, each in sources.attributes.items() if not each.removed} == set(
            device.attributes
        )
        assert set(sources.capacity) == set(device.capacity)
    (found,) = scene.merged()["spec"]["devices"]
    assert found.get("attributes", {}) == _attributes(case)
    assert _texts(found.get("capacity", {})) == _capacity(case)


def _hidden(given: Given) -> list[str]:
    return [f"{_by(giver)} {next(iter(entry.values()))}" for giver, entry in given.hidden]


def _by(giver: Giver) -> str:
    return giver.name or "slice"


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (PatchFailure(DEVICE, "why", 1), f"does not apply to {DEVICE}: why"),
        (PatchFailure(DEVICE, "why", 20), f"does not apply to 20 devices, such as {DEVICE}: why"),
        (PatchFailure(None, "why", 0), "applies to no device: why"),
    ],
)
def test_text_of_failures(failure: PatchFailure, text: str) -> None:
    """The same in the event and in commands."""
    assert str(failure) == text


def test_the_slice_stays_as_it_was() -> None:
    """Slices are not changed: what patches change is made beside them."""
    scene = Scene({"device": {"attributes": {"model": "a"}, "capacity": {"memory": "1Gi"}}})
    before = repr(scene.slice)
    scene.patches = [patch(attributes={f"{DRIVER}/model": None}, capacity={f"{DRIVER}/memory": "2Gi"})]
    scene.rules = [taint_rule("r", {})]
    assert scene.merged() != scene.slice
    inventory = scene.inventory()
    (published,), (merged,) = inventory.published(), inventory
    assert published.devices[0].attributes == {"model": {"string": "a"}}
    assert not merged.devices[0].attributes
    assert repr(scene.slice) == before


def test_what_nothing_applies_to_is_the_same_object() -> None:
    """Memory is shared: slices that no patch is about are not copied."""
    scene = Scene({"patches": [{"name": "p", "filter": {"pool": "x"}, "attributes": {"a.b/c": "d"}}]})
    assert scene.merged() is scene.slice
    inventory = scene.inventory()
    assert next(iter(inventory)) is next(inventory.published())


@pytest.mark.parametrize(
    ("gate", "attributes", "taints"),
    [("DRAAdminControlledDeviceAttributes", 0, 1), ("DRADeviceTaints", 1, 0)],
)
def test_gates(gate: str, attributes: int, taints: int) -> None:
    """Without its feature gate a kind has no effect."""
    scene = Scene({"patches": [{"name": "p", "attributes": {"a.b/c": "d"}}], "rules": [["r", {}]]})
    (device,) = scene.merged(without(gate))["spec"]["devices"]
    assert (len(device.get("attributes", {})), len(device.get("taints", ()))) == (attributes, taints)
    state = cluster(scene.slice, features=without(gate))
    state.put_patch(scene.patches[0])
    ((placed,),) = [slice.devices for slice in state.inventory]
    assert len(placed.attributes) == (gate == "DRADeviceTaints")


def test_more_than_32_attributes() -> None:
    """A merged device may have more attributes and capacities than a slice may give it."""
    own = {f"a{number}": number for number in range(32)}
    more = {f"admin.example.com/a{number}": number for number in range(32)}
    scene = Scene({"device": {"attributes": own}, "patches": [{"name": "p", "attributes": more}]})
    ((device,),) = [slice.devices for slice in scene.inventory()]
    assert len(device.attributes) == 64


@pytest.mark.parametrize("spelled", ["model", f"{DRIVER}/model"])
@pytest.mark.parametrize(
    "published", [{}, {"attributes": {"model": "a"}}, {"attributes": {f"{DRIVER}/model": "a"}}]
)
def test_claims_see_patched_attributes_by_any_spelling(published: Object, spelled: str) -> None:
    """Selectors and constraints find what a patch gives, however slice and patch spell it."""
    scene = Scene({"device": published, "patches": [{"name": "p", "attributes": {spelled: "b"}}]})
    state = cluster(scene.slice)
    state.put_patch(scene.patches[0])
    selector = f'device.attributes["{DRIVER}"].model == "b"'
    wanted = claim(
        exactly(selectors=[selector]), constraints=[{"matchAttribute": f"{DRIVER}/model"}], name="wanted"
    )
    assert state.place([Claim(wanted)], Mode.FIRST_FIT, UNLIMITED).placed == "n"


def test_devices_that_are_replaced_go_at_once() -> None:
    """Without the garbage collector, which would look through all devices again and again while many are replaced."""
    inventory = Scene({"device": {}}).inventory()
    gc.disable()
    try:
        inventory.put_patch(patch(attributes={f"{DRIVER}/a": 1}))
        before = [ref(slice) for slice in inventory]
        inventory.put_patch(patch(attributes={f"{DRIVER}/a": 2}))
        inventory.settle(UNLIMITED)
        assert [slice() for slice in before] == [None]
    finally:
        gc.enable()


@pytest.mark.parametrize("driver", ["sources", "gpu.example.com"])
def test_names_of_drivers_are_not_taken_for_anything_else(driver: str) -> None:
    """Whatever a driver is called, the devices of all of them can be changed after somebody has asked who gives what."""
    first, second = [
        slice_of("d", name=each, pool=each, driver=each) for each in (driver, "other.example.com")
    ]
    inventory = Inventory([first])
    inventory.put_patch(patch("p", attributes={"a.example.com/a": 1}))
    for added in (second, first | {"metadata": {"name": "third"}}):
        for slice in list(inventory):
            for each in slice.devices:
                sources = inventory.sources_of(each.id)
                assert sources is not None
                assert sources.attributes["a.example.com/a"].giver.name == "p"
        inventory.put(added)
    assert all("a.example.com/a" in each.attributes for slice in inventory for each in slice.devices)
