"""What patches say of devices takes bounded memory, however often drivers publish other ones."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from allocator.inventory import Inventory
from allocator.patches import changes, criterion
from resourceapi.objects import Object
from tests.allocator.objects import DRIVER, device, slice_of
from tests.allocator.patches.objects import patch

DEVICES, FEW, MANY = 16, 5, 20
MIB = 1 << 20
NAME = f'device.attributes["{DRIVER}"].name'
CASES = {
    "all of a device is looked at": ([f'device.attributes["{DRIVER}"].exists(name, name == "a")'], 31),
    "many attributes are looked at": (
        [" && ".join(f'device.attributes["{DRIVER}"].large{each} != "a"' for each in range(31))],
        31,
    ),
    "each patch fails in words of its own": ([f"int({NAME}) == {each}" for each in range(50)], 0),
}


def published(number: int, large: int) -> Object:
    """A slice as its driver has it after so many changes: with other devices each time."""
    return slice_of(
        *[
            device(
                f"d{place}",
                attributes={"name": f"a{number}-{place}"}
                | {f"large{each}": f"{number}-{place}-{each}".ljust(64, "x") for each in range(large)},
            )
            for place in range(DEVICES)
        ]
    )


@pytest.mark.parametrize(("selectors", "large"), CASES.values(), ids=CASES.keys())
def test_devices_that_are_others_again_and_again(
    monkeypatch: pytest.MonkeyPatch, selectors: list[str], large: int
) -> None:
    """A driver that changed one slice every second filled gigabytes with what patches said of devices that were gone."""
    monkeypatch.setattr(criterion, "VERDICT_BYTES", MIB // 8)
    monkeypatch.setattr(changes, "_FOUND_BYTES", MIB // 8)
    inventory = Inventory()
    for number, selector in enumerate(selectors):
        inventory.put_patch(patch(f"p{number}", selectors=(selector,), attributes={"a.example.com/a": 1}))
    tracemalloc.start()
    try:
        taken = []
        for number in range(MANY):
            inventory.put(published(number, large))
            assert len(inventory.failures) == (0 if large else len(selectors))
            if number + 1 in (FEW, MANY):
                gc.collect()
                taken.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert taken[1] - taken[0] < (MANY - FEW) * DEVICES * 1_000
