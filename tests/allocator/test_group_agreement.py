"""Devices on a counter set agree on compatibility groups, whatever came first and whatever slices say later.

The rule, from the sentences of KEP-5963: "either both must have no groups, or both must declare at least one group and
share at least one group name", for "all devices co-allocated on the same counter set", with what they declared "at the
time of allocation".
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations
from random import Random

import pytest

from allocator.scheduling import Mode, SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.manifests import key_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.objects import claim, cluster, counter_slice, device, draws, exactly, slice_of

Declared = dict[str, frozenset[str]]
"""What a device declares for each counter set that it consumes."""

SETS = ("s", "t")
SHARED = ("d0", "d1")
NAMES = (*SHARED, "d2", "d3", "d4")


def agree(allocated: Iterable[Declared]) -> bool:
    """Whether devices may be allocated at the same time."""
    held = list(allocated)
    for counter_set in SETS:
        groups = [each[counter_set] for each in held if counter_set in each]
        nobody_has_any = not any(groups)
        all_share_one = any(all(name in each for each in groups) for name in "ab")
        if not nobody_has_any and not all_share_one:
            return False
    return True


def declared(random: Random, sets: Iterable[str] = ()) -> Declared:
    sets = tuple(sets) or random.choice((("s",), ("s",), ("t",), SETS))
    return {each: frozenset(random.sample("ab", random.choice((0, 1, 1, 2)))) for each in sets}


def slices(devices: dict[str, Declared]) -> list[Object]:
    made = [
        device(
            name,
            attributes={"name": name},
            consumesCounters=[draws(each, {"m": "0"}, sorted(groups)) for each, groups in sets.items()],
            **({"allowMultipleAllocations": True} if name in SHARED else {}),
        )
        for name, sets in devices.items()
    ]
    return [counter_slice({each: {"m": "1"} for each in SETS}), slice_of(*made, count=2)]


def pod(names: Iterable[str], title: str, *, one_claim: bool) -> list[Object]:
    """The claims of a pod that wants these very devices."""
    requests = [
        exactly(f"r-{index}", selectors=[f"device.attributes['gpu.example.com'].name == '{name}'"])
        for index, name in enumerate(names)
    ]
    if one_claim:
        return [claim(*requests, name=title)]
    return [claim(each, name=f"{title}-{index}") for index, each in enumerate(requests)]


class Story:
    """Pods that come and go while the driver changes its mind, against the rule."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.devices = {name: declared(self.random) for name in NAMES}
        self.state: SchedulingState = cluster(*slices(self.devices))
        #: claims of pods that are placed, with the devices they got and what those declared
        self.placed: list[tuple[list[Object], list[tuple[str, Declared]]]] = []

    def step(self, number: int) -> None:
        kind = self.random.random()
        if kind < 0.2:
            # Other groups for the same counter sets: what a device consumes, nobody remembers.
            name = self.random.choice(NAMES)
            self.devices[name] = declared(self.random, self.devices[name])
            for each in slices(self.devices):
                self.state.put_slice(each)
        elif kind < 0.35 and self.placed:
            claims, _ = self.placed.pop(self.random.randrange(len(self.placed)))
            for each in claims:
                self.state.release(key_of(each))
        else:
            self.ask(number)

    def ask(self, number: int) -> None:
        names = self.random.sample(NAMES, self.random.choice((1, 1, 2, 3)))
        held = [each for _, got in self.placed for each in got]
        wanted = [(name, self.devices[name]) for name in names]
        taken = {name for name, _ in held}
        free = not any(name in taken and name not in SHARED for name in names)
        # A set on which the claims contradict each other (no scheduler makes such) does not concern other sets.
        concerned = {counter_set for _, each in wanted for counter_set in each}
        fits = free and agree(
            {counter_set: groups for counter_set, groups in each.items() if counter_set in concerned}
            for _, each in (*held, *wanted)
        )
        claims = pod(names, f"pod-{number}", one_claim=self.random.random() < 0.5)
        assert (
            bool(self.state.place([Claim(each) for each in claims], Mode.FIRST_FIT, UNLIMITED).placed) == fits
        )
        if fits:
            self.placed.append((claims, wanted))


@pytest.mark.parametrize("block", range(4))
def test_only_what_agrees(block: int) -> None:
    """A pod gets its devices if, and only if, they agree with all that are allocated."""
    for seed in range(block * 50, (block + 1) * 50):
        story = Story(seed)
        for number in range(12):
            story.step(number)


@pytest.mark.parametrize("seed", range(60))
def test_order_does_not_matter(seed: int) -> None:
    """The same devices get their place in any order, and in one pod as in several, or never."""
    random = Random(seed)
    devices = {name: declared(random) for name in NAMES}
    names = random.sample(NAMES, 3)
    together = agree(devices[name] for name in names)
    for order in permutations(names):
        for sizes in ((1, 1, 1), (2, 1), (1, 2), (3,)):
            state = cluster(*slices(devices))
            rest, placed = list(order), []
            for index, size in enumerate(sizes):
                part, rest = rest[:size], rest[size:]
                claims = pod(part, f"p{index}", one_claim=random.random() < 0.5)
                if state.place([Claim(each) for each in claims], Mode.FIRST_FIT, UNLIMITED).placed:
                    placed += part
            assert agree(devices[name] for name in placed)
            assert (len(placed) == len(names)) == together
