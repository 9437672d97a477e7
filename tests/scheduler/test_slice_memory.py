"""What the sidecar keeps of ResourceSlices takes a few times their bytes."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable

import pytest

from resourceapi.objects import Object
from resourceapi.releases import Profile
from scheduler.cluster_picture import ClusterPicture
from tests.scheduler.small_cluster import gpus

SLICES, DEVICES, VALUES = 4, 64, 32


def slice_of(number: int, device: Callable[[int], Object]) -> Object:
    """One of several slices with so many devices."""
    made = gpus(f"n{number}", 0)
    made["spec"]["devices"] = [
        {"name": f"d{each}", **device(1000 * number + each)} for each in range(DEVICES)
    ]
    return made


def attributes(field: str, value: Callable[[int, int], object]) -> Callable[[int], Object]:
    """Devices with as many attributes as there may be, each of which says which it is of which device."""
    return lambda device: {"attributes": {f"a{each}": {field: value(device, each)} for each in range(VALUES)}}


@pytest.mark.parametrize(
    ("device", "factor"),
    [
        (attributes("string", lambda device, each: f"text number {each}"), 1),
        (attributes("string", lambda device, each: f"text of {device}, number {each}"), 7),
        (attributes("int", lambda device, each: device * VALUES + each), 10),
        (lambda device: {"capacity": {f"c{each}": {"value": f"{device}"} for each in range(VALUES)}}, 15),
    ],
    ids=["alike", "strings", "numbers", "capacity"],
)
def test_slices_take_a_few_times_their_bytes(device: Callable[[int], Object], factor: float) -> None:
    """Whether devices are alike or not; with an object for each value it was 9 to 26 times."""
    picture = ClusterPicture(Profile("1.37"))
    picture.slices.put(slice_of(SLICES, device))  # what is made once
    texts = [json.dumps(slice_of(number, device), separators=(",", ":")) for number in range(SLICES)]
    tracemalloc.start()
    try:
        for text in texts:
            picture.slices.put(json.loads(text))
        assert tracemalloc.get_traced_memory()[0] < factor * sum(map(len, texts))
    finally:
        tracemalloc.stop()


def test_a_version_that_is_known_changes_nothing() -> None:
    """All slices are listed again when a watch ends; only those with another version are put again."""
    picture = ClusterPicture(Profile("1.37"))
    published = gpus("n1", 2)
    published["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    picture.slices.replace([published])
    gains = picture.gains
    picture.slices.replace([published])
    assert picture.gains == gains
    picture.slices.replace([{**published, "metadata": {**published["metadata"], "resourceVersion": "2"}}])
    assert picture.gains > gains
    picture.slices.replace([])
    assert not list(picture.state.inventory)
