"""Nodes with GPUs that can be partitioned as NVIDIA's A100 can, and pods that together fill them exactly."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from allocator.scheduling import SchedulingState
from allocator.simulation import Pod
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.objects import (
    DRIVER,
    claim,
    cluster,
    counter_slice,
    device,
    draws,
    exactly,
    node,
    slice_of,
)

#: Of each profile: the memory slices at which it can start, how many of them it takes, and compute slices.
PROFILES = {
    "7g.80gb": ((0,), 8, 7),
    "4g.40gb": ((0,), 4, 4),
    "3g.40gb": ((0, 4), 4, 3),
    "2g.20gb": ((0, 2, 4), 2, 2),
    "1g.20gb": ((0, 2, 4, 6), 2, 1),
    "1g.10gb": ((0, 1, 2, 3, 4, 5, 6), 1, 1),
}
MEMORY, COMPUTE = 8, 7
Layout = Sequence[str]
LAYOUTS: dict[str, Sequence[Layout]] = {
    "mixed": (
        ("7g.80gb",),
        ("4g.40gb", "3g.40gb"),
        ("4g.40gb", "2g.20gb", "1g.10gb"),
        ("3g.40gb", "3g.40gb"),
        ("2g.20gb", "2g.20gb", "2g.20gb", "1g.10gb"),
        ("1g.10gb",) * 7,
        ("3g.40gb", "2g.20gb", "1g.20gb"),
        ("4g.40gb", "1g.10gb", "1g.10gb", "1g.10gb"),
    ),
    "halves": (("4g.40gb", "3g.40gb"),),
    "thirds": (
        ("4g.40gb", "2g.20gb", "1g.10gb"),
        ("4g.40gb", "3g.40gb"),
        ("3g.40gb", "2g.20gb", "1g.20gb"),
    ),
}
"""Families of ways to fill a GPU."""

RISING = tuple(reversed(PROFILES))
ARRIVALS: dict[str, Sequence[str]] = {
    "random": (),
    "rising": RISING,
    "falling": tuple(PROFILES),
    "middle": ("3g.40gb", "2g.20gb", "1g.10gb", "1g.20gb", "4g.40gb", "7g.80gb"),
}
"""The orders in which profiles arrive; None for a random one."""


def random_layouts(count: int, random: Random) -> list[Layout]:
    """Ways to fill a GPU by taking whatever still fits, until nothing does."""
    return [_random_layout(random) for _ in range(count)]


def _random_layout(random: Random) -> Layout:
    taken: set[int] = set()
    compute = COMPUTE
    found: list[str] = []
    while True:
        fitting = [
            (profile, set(range(start, start + memory)))
            for profile, (starts, memory, slices) in PROFILES.items()
            for start in starts
            if slices <= compute and taken.isdisjoint(range(start, start + memory))
        ]
        if not fitting:
            return found
        profile, places = random.choice(fitting)
        taken |= places
        compute -= PROFILES[profile][2]
        found.append(profile)


def gpus(nodes: int, per_node: int) -> SchedulingState:
    """A cluster of such nodes, small partitions being listed first."""
    slices = []
    for index in range(nodes):
        name = f"node-{index:02}"
        place: Object = {"pool": name, "nodeName": name, "count": 2}
        sets = {f"gpu-{number}": _totals() for number in range(per_node)}
        slices.append(counter_slice(sets, name=f"{name}-counters", **place))
        devices = [each for number in range(per_node) for each in _partitions(f"gpu-{number}")]
        slices.append(slice_of(*devices, name=f"{name}-partitions", **place))
    return cluster(*slices, nodes=[node(f"node-{index:02}") for index in range(nodes)])


def _totals() -> dict[str, str]:
    return {"compute": str(COMPUTE), **{f"memory-{place}": "1" for place in range(MEMORY)}}


def _partitions(gpu: str) -> list[Object]:
    return [
        device(
            f"{gpu}-{profile.replace('.', '-')}-{start}",
            attributes={"profile": profile, "parent": gpu},
            consumesCounters=[
                draws(
                    gpu,
                    {
                        "compute": str(compute),
                        **{f"memory-{place}": "1" for place in range(start, start + memory)},
                    },
                )
            ],
        )
        for profile in RISING
        for starts, memory, compute in (PROFILES[profile],)
        for start in starts
    ]


def wanted(count: int, layouts: Sequence[Layout], arrival: str, random: Random) -> list[str]:
    """The profiles that fill a number of GPUs, in the order in which pods request them."""
    profiles = [profile for _ in range(count) for profile in random.choice(layouts)]
    random.shuffle(profiles)
    order = ARRIVALS[arrival]
    return sorted(profiles, key=order.index) if order else profiles


def pods(profiles: Sequence[str]) -> list[Pod]:
    """Pods with one claim each, for one partition."""
    found = []
    for index, profile in enumerate(profiles):
        name = f"c{index:03}"
        selector = f'device.attributes["{DRIVER}"].profile == "{profile}"'
        found.append(Pod(name, {f"ns/{name}": Claim(claim(exactly(selectors=[selector]), name=name))}))
    return found
