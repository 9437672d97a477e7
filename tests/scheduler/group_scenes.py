"""What compatibility groups have to do with who gets which device: the examples of KEP-5963, and what follows from its rules.

Each scene is one node with one device, parts of which draw from its counters; parts are asked for one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from resourceapi.objects import Object
from tests.allocator.objects import DRIVER

COUNTERS = "gpu-0-counters"


class Part(NamedTuple):
    """A device that draws from the counter set."""

    name: str
    amount: int
    groups: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """What claims ask for: the name without its number."""
        return self.name.rpartition("-")[0]


class Scene(NamedTuple):
    """The counter set has 100. `asked`: types, each with the device that it gets, None if none."""

    parts: tuple[Part, ...]
    asked: tuple[tuple[str, str | None], ...]


def _parts(type: str, count: int, amount: int, *groups: str) -> tuple[Part, ...]:
    return tuple(Part(f"{type}-{number}", amount, groups) for number in range(count))


MIG, VGPU = _parts("mig", 3, 20, "mig"), _parts("vgpu", 2, 50, "vgpu")
SHARED = (*_parts("foo", 1, 25, "foo", "foobar"), *_parts("bar", 1, 25, "bar", "foobar"))
EXAMPLE_4 = (*SHARED, *_parts("baz", 1, 50, "baz"))
SCENES: dict[str, Scene] = {
    "example-1": Scene(_parts("mig", 3, 20), (("mig", "mig-0"), ("mig", "mig-1"))),
    # what the API without groups does not prevent
    "example-2": Scene(
        (*_parts("mig", 2, 20), *_parts("vgpu", 2, 50)), (("mig", "mig-0"), ("vgpu", "vgpu-0"))
    ),
    "example-3": Scene((*MIG, *VGPU), (("mig", "mig-0"), ("vgpu", None), ("mig", "mig-1"))),
    "example-3-reversed": Scene((*MIG, *VGPU), (("vgpu", "vgpu-0"), ("mig", None), ("vgpu", "vgpu-1"))),
    "example-4": Scene(EXAMPLE_4, (("foo", "foo-0"), ("baz", None), ("bar", "bar-0"), ("baz", None))),
    "example-4-reversed": Scene(EXAMPLE_4, (("baz", "baz-0"), ("bar", None), ("foo", None))),
    "none-after-some": Scene((*MIG, *_parts("plain", 1, 20)), (("mig", "mig-0"), ("plain", None))),
    "some-after-none": Scene((*MIG, *_parts("plain", 1, 20)), (("plain", "plain-0"), ("mig", None))),
    # "foo" and "bar" leave only "foobar" in common
    "the-common-group-shrinks": Scene(
        (*SHARED, *_parts("only", 1, 25, "foo")), (("foo", "foo-0"), ("bar", "bar-0"), ("only", None))
    ),
}


def slices(parts: tuple[Part, ...], node: str, generation: int = 1) -> Iterator[Object]:
    """The ResourceSlices of a node with these parts."""
    pool = {"name": f"{node}-pool", "generation": generation, "resourceSliceCount": 2}
    counters = {"units": {"value": "100"}}
    yield _slice(f"{node}-counters", node, pool, sharedCounters=[{"name": COUNTERS, "counters": counters}])
    yield _slice(f"{node}-devices", node, pool, devices=[_device(part) for part in parts])


def _slice(name: str, node: str, pool: Object, **content: object) -> Object:
    spec = {"driver": DRIVER, "pool": pool, "nodeName": node, **content}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": spec,
    }


def _device(part: Part) -> Object:
    consumption: Object = {"counterSet": COUNTERS, "counters": {"units": {"value": str(part.amount)}}}
    if part.groups:
        consumption["compatibilityGroups"] = list(part.groups)
    return {
        "name": part.name,
        "attributes": {"type": {"string": part.type}},
        "consumesCounters": [consumption],
    }


def spec_asking(type: str) -> Object:
    """The spec of a claim for a part of a type."""
    expression = f"device.attributes['{DRIVER}'].type == '{type}'"
    exactly = {
        "deviceClassName": "any",
        "allocationMode": "ExactCount",
        "count": 1,
        "selectors": [{"cel": {"expression": expression}}],
    }
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
