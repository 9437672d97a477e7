"""Devices are grouped by what selectors see of them."""

from __future__ import annotations

import pytest

from advice import device_inventory
from advice.device_inventory import DeviceInventory
from deviceselectors.device_properties import properties_key
from resourceapi.objects import Object


def test_shared_attributes_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patched devices share their attributes, which may be thousands; equal ones of others are in the same group."""
    read = []

    def counted(driver: str, device: Object) -> str:
        read.append(device["name"])
        return properties_key(driver, device)

    monkeypatch.setattr(device_inventory, "properties_key", counted)
    shared = {"a.example.com/m": {"int": 1}}
    devices = [{"name": f"d{number}", "attributes": shared} for number in range(100)]
    devices += [{"name": "equal", "attributes": dict(shared)}, {"name": "other", "attributes": {}}]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    slice = {"metadata": {"name": "s"}, "spec": {"driver": "d.x", "pool": pool, "devices": devices}}
    groups = DeviceInventory([slice]).groups
    assert [len(group.members) for group in groups] == [101, 1]
    assert read == ["d0", "equal", "other"]
