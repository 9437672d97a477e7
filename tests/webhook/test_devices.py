"""The webhooks' view of devices: what patches change is done in parts, so that reviews come between."""

from __future__ import annotations

import random

import pytest

from allocator.devices import Device
from resourceapi.objects import Object
from resourceapi.records.pools import DeviceId
from resourceapi.releases import Profile
from webhook import devices
from webhook.devices import DeviceIndex

DRIVER = "gpu.example.com"
NODES = [f"n{number}" for number in range(6)]


def slice_of(node: str, generation: int = 1) -> Object:
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1}
    device = {"name": "gpu", "attributes": {"model": {"string": f"model-of-{node}"}}}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": [device]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": spec,
    }


def patch(name: str, expression: str) -> Object:
    selectors = [{"cel": {"expression": expression}}]
    return {
        "apiVersion": "claimcheck.example.com/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": name},
        "spec": {
            "devices": {
                "filter": {"selectors": selectors},
                "attributes": {f"{name}.example.com/x": {"int": 1}},
            }
        },
    }


class Reader:
    """Reads whenever the thread that makes changes pauses."""

    def __init__(self, index: DeviceIndex) -> None:
        self._index = index
        self.seen = [patched(index)]

    def __call__(self, _: float) -> None:
        assert self._index.lock.acquire(blocking=False)
        try:
            self.seen.append(patched(self._index))
        finally:
            self._index.lock.release()


def patched(index: DeviceIndex) -> int:
    """How many devices have the attribute that the patch `a` gives."""
    groups = [group for props, group in index.groups.items() if "a.example.com/x" in props.attributes]
    return sum(len(group.members) for group in groups)


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> DeviceIndex:
    """There is time for one slice in each part."""
    monkeypatch.setattr(devices, "STEP_SECONDS", -1.0)
    monkeypatch.setattr("webhook.devices.time.sleep", lambda _: None)
    index = DeviceIndex(Profile("1.37", {}))
    for node in NODES:
        index.slices.put(slice_of(node))
    return index


def test_readers_come_between(index: DeviceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a patch of many devices; each of them is as before, or as it is to be."""
    reader = Reader(index)
    monkeypatch.setattr("webhook.devices.time.sleep", reader)
    index.patches.put(patch("a", f'device.attributes["{DRIVER}"].model != ""'))
    assert patched(index) == len(NODES)
    assert reader.seen == sorted(reader.seen)
    assert set(reader.seen) == set(range(len(NODES) + 1))
    index.patches.remove({"metadata": {"name": "a"}})
    assert patched(index) == 0


def test_slices_that_change_while_patches_are_there(index: DeviceIndex) -> None:
    """The devices are those of the newest slices, all patched; what was there before is gone."""
    index.patches.put(patch("a", f'device.attributes["{DRIVER}"].model != ""'))
    for node in NODES:
        index.slices.put(slice_of(node, 2))
    index.slices.remove(slice_of(NODES[0]))
    assert patched(index) == index.count() == len(NODES) - 1
    members = {each for group in index.groups.values() for each in group.members}
    assert members == {DeviceId(DRIVER, node, "gpu") for node in NODES[1:]}


def test_a_slice_costs_as_much_however_many_its_pool_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that changes a large pool slice by slice does not have the whole pool looked through for each."""
    index = DeviceIndex(Profile("1.37", {}))
    index.slices.replace(pooled(number, "n") for number in range(50))
    added: list[Device] = []
    monkeypatch.setattr(index, "_add", added.append)
    index.slices.put(pooled(0, "n", generation=2))
    assert [device.id.device for device in added] == ["shared", "own-0"]


def pooled(number: int, node: str, *devices: str, generation: int = 1, count: int = 50) -> Object:
    """A slice of the pool `n`: with its own device and one that all slices have."""
    found = slice_of(node, generation)
    found["metadata"]["name"] = f"slice-{number}"
    found["spec"]["pool"] = {"name": "n", "generation": generation, "resourceSliceCount": count}
    found["spec"]["devices"] = [
        {"name": name, "attributes": {"model": {"string": "x"}}}
        for name in devices or ("shared", f"own-{number}")
    ]
    return found


def test_devices_of_several_slices() -> None:
    """A device stays as long as any slice has it, on a node of one of these."""
    draw = random.Random(3)
    index = DeviceIndex(Profile("1.37", {}))
    there: dict[int, tuple[str, list[str], int]] = {}
    for _ in range(500):
        number, node, count = draw.randrange(4), draw.choice(NODES), draw.randrange(1, 5)
        names = draw.sample("abc", draw.randrange(1, 4))
        if draw.random() < 0.4:
            there.pop(number, None)
            index.slices.remove(pooled(number, node))
        else:
            there[number] = node, names, count
            index.slices.put(pooled(number, node, *names, count=count))
        nodes: dict[str, set[str]] = {}
        for at, devices_there, _ in there.values():
            for name in devices_there:
                nodes.setdefault(name, set()).add(at)
        members = {name.device: at for group in index.groups.values() for name, at in group.members.items()}
        assert set(members) == set(nodes)
        assert all(at in nodes[name] for name, at in members.items())
        assert index.count() == len(nodes)
        assert index.is_settled == all(count == len(there) for _, _, count in there.values())
    index.slices.replace([])
    assert not index.groups


def test_garbage_is_looked_for_once_half_of_the_devices_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that writes its slices again and again does not hold up the webhook each time."""
    monkeypatch.setattr(devices, "_MANY_DEVICES", 2)
    index = DeviceIndex(Profile("1.37", {}))
    changes: list[object] = []
    monkeypatch.setattr(index.fitting, "change", changes.append)
    for node in NODES:
        index.slices.put(slice_of(node))
    assert changes.count(devices._freeze) == 2  # with two of two devices, and with two of four
    changes.clear()
    for generation in range(2, 32):
        index.slices.put(slice_of(NODES[0], generation))
    assert changes.count(devices._freeze) == 10
