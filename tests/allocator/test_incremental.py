"""Caches never change answers: they are those of a new allocator."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from allocator.allocated import AllocatedState
from allocator.allocation import Allocator
from allocator.devices import Slice
from allocator.errors import AllocationError, Mention, NodeError, in_words
from allocator.features import GATES, Features
from allocator.inventory import Inventory, PoolSlices
from allocator.patches import merged_slices
from allocator.scheduling import FATAL, NODE, Mode, NodeAnswer, PodAnswer, SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from resourceapi.records.taints import DeviceTaintRule
from tests.allocator.objects import ALL_FEATURES, DRIVER, claim, device, device_class, exactly, node, slice_of
from tests.allocator.random_clusters import (
    NODES,
    on_every_node,
    random_claim,
    random_node,
    random_rule,
    random_slice,
)

FEATURES = {
    "all": Features(GATES),
    "upstream": Features(GATES, group_snapshots=False),
    "no-groups": Features(GATES - {"DRADeviceCompatibilityGroups"}),
    "stable": Features(
        {"DRAAdminAccess", "DRADeviceTaints", "DRAPartitionableDevices", "DRAPrioritizedList"},
        group_snapshots=False,
    ),
    "none": Features(group_snapshots=False),
}


class ChangingCluster:
    """A cluster that follows changes, and everything to make another one from."""

    def __init__(self, features: Features, draw: random.Random) -> None:
        self.features = features
        self.draw = draw
        self.nodes = {name: random_node(draw, name) for name in NODES[:3]}
        self.slices: dict[str, Object] = {}
        self.rules: dict[str, DeviceTaintRule] = {}
        self.claims: list[Claim] = []
        self._numbers = itertools.count()
        gpu = ["device.driver == 'gpu.example.com'"]
        self.classes = {"any": device_class(), "gpu": device_class("gpu", gpu)}
        self.cluster = SchedulingState(features, self.nodes.values(), self.classes, [])
        for _ in range(8):
            self.change_slice()

    def change_slice(self) -> None:
        slice = random_slice(self.draw)
        slices = [slice]
        if self.draw.random() < 0.6:
            slices = on_every_node(slice, serial=self.draw.random() < 0.5)
        if self.draw.random() < 0.2:
            for name in map(name_of, slices):
                self.slices.pop(name, None)
                self.cluster.remove_slice(name)
            return
        for each in slices:
            self.put_slice(each)

    def put_slice(self, slice: Object) -> None:
        name = name_of(slice)
        before = self.slices.get(name)
        if before is not None and _home(before) != _home(slice):
            del self.slices[name]  # it comes last in its new pool
        self.slices[name] = slice
        self.cluster.put_slice(slice)

    def change_node(self) -> None:
        name = self.draw.choice(NODES)
        if self.draw.random() < 0.3:
            self.nodes.pop(name, None)
            self.cluster.remove_node(name)
        else:
            self.nodes[name] = random_node(self.draw, name)
            self.cluster.put_node(self.nodes[name])

    def change_rule(self) -> None:
        rule = random_rule(self.draw)
        name = rule.name
        if self.draw.random() < 0.4:
            self.rules.pop(name, None)
            self.cluster.remove_rule(name)
        else:
            self.rules[name] = rule
            self.cluster.put_rule(rule)

    def change_class(self) -> None:
        if self.draw.random() < 0.5:
            self.classes["gpu"] = device_class("gpu", ["true"])
            self.cluster.put_class(self.classes["gpu"])
        else:
            self.classes.pop("gpu", None)
            self.cluster.remove_class("gpu")

    def place(self) -> None:
        claim = Claim(random_claim(self.draw, f"claim-{next(self._numbers)}"))
        self.keep(self.cluster.place([claim], self.draw.choice([Mode.FIRST_FIT, Mode.SCHEDULER]), UNLIMITED))

    def keep(self, answer: PodAnswer) -> None:
        self.claims += [claim.allocated(allocation) for claim, allocation in answer.allocated.items()]

    def release(self) -> None:
        if self.claims:
            self.cluster.release(self.claims.pop(self.draw.randrange(len(self.claims))).key)

    def step(self) -> None:
        changes = [self.change_slice] * 4 + [self.place] * 8 + [self.release] * 3
        self.draw.choice([*changes, self.change_node, self.change_rule, self.change_class])()

    def from_nothing(self, claims: list[Object]) -> list[NodeAnswer]:
        """The answers of all nodes, node by node."""
        inventory = Inventory(
            merged_slices(self.slices.values(), (), self.rules.values(), {}, ALL_FEATURES),
            reading=self.features.reading,
        )
        allocated = AllocatedState(self.features)
        for each in self.claims:
            assert each.allocation is not None
            allocated.add(each.allocation)
        allocator = Allocator(self.features, self.classes, inventory, allocated)
        return [_ask(allocator, each, claims) for each in self.nodes.values()]


def _home(slice: Object) -> object:
    spec = slice["spec"]
    return spec["driver"], spec["pool"]["name"]


def _ask(allocator: Allocator, node: Node, claims: list[Object]) -> NodeAnswer:
    name = node.name
    try:
        return NodeAnswer(
            name,
            allocator.allocate(
                node, allocator.demand([Claim(each) for each in claims], UNLIMITED), UNLIMITED
            ),
        )
    except AllocationError as error:
        unnamed = [part.otherwise if isinstance(part, Mention) else in_words((part,)) for part in error.text]
        return NodeAnswer(name, None, str(error), FATAL, error.fix, "".join(unnamed))
    except NodeError as error:
        return NodeAnswer(name, None, str(error), NODE, unnamed=str(error))


def without_share_ids(answers: list[NodeAnswer]) -> list[NodeAnswer]:
    return [
        answer._replace(result=None if answer.result is None else [_plain(each) for each in answer.result])
        for answer in answers
    ]


def _plain(result: Object) -> Object:
    devices = dict(result["devices"])
    if "results" in devices:
        devices["results"] = [
            {**each, "shareID": "share"} if "shareID" in each else each for each in devices["results"]
        ]
    return {**result, "devices": devices}


@pytest.mark.parametrize("profile", FEATURES)
@pytest.mark.parametrize("seed", range(40))
def test_answers_are_those_of_a_fresh_allocator(
    monkeypatch: pytest.MonkeyPatch, profile: str, seed: int
) -> None:
    """Whatever has happened to a cluster, all nodes answer as if they had never been asked before."""
    if seed % 2:
        # What the plain search cannot tell at once is known of nodes that are alike for the claims.
        monkeypatch.setattr("allocator.solving.MAX_BACKTRACKS", 0)
    if seed % 3 == 0:
        # Which slices reach a node is found out anew after so many changes.
        monkeypatch.setattr("allocator.nodes._MAX_MOVES", 3)
        monkeypatch.setattr("allocator.inventory.TOGETHER_BYTES", 0)
    state = ChangingCluster(FEATURES[profile], random.Random(f"{profile} {seed}"))
    for step in range(25):
        state.step()
        claims = [
            random_claim(state.draw, f"question-{step}-{each}")
            for each in range(state.draw.choice([1, 1, 2]))
        ]
        answers = state.cluster.place([Claim(each) for each in claims], Mode.ALL_NODES, UNLIMITED).nodes
        assert without_share_ids(list(answers)) == without_share_ids(state.from_nothing(claims))


def _with_serials(draw: random.Random, name: str) -> Object:
    """A node's slice with one of few patterns of devices, each with an attribute that no other has."""
    patterns = ["x1 x2 y1 y2", "x1 x2 y1 y1", "x1 y1 x2 y2", "x1 x1 y2 y2"]
    devices = [
        device(
            f"{name}-{index}",
            attributes={"model": kind[0], "root": int(kind[1]), "serial": f"{name}-{index}"},
            taints=[{"key": "k", "effect": "NoSchedule"}] if draw.random() < 0.15 else [],
        )
        for index, kind in enumerate(draw.choice(patterns).split())
    ]
    return slice_of(*devices, name=name, pool=name, nodeName=name)


@pytest.mark.parametrize("seed", range(30))
def test_nodes_that_are_alike_for_claims(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Nodes that differ in serial numbers are equivalent; nodes that differ in what selectors and constraints read are not."""
    monkeypatch.setattr("allocator.solving.MAX_BACKTRACKS", 0)
    draw = random.Random(seed)
    state = ChangingCluster(FEATURES["all"], draw)
    for name in list(state.slices):
        state.cluster.remove_slice(name)
    state.slices.clear()
    for number in range(8):
        state.nodes[f"n{number}"] = node(f"n{number}")
        state.cluster.put_node(state.nodes[f"n{number}"])
        state.put_slice(_with_serials(draw, f"n{number}"))
    for step in range(15):
        kinds = [draw.choice(["x", "y"]) for _ in range(draw.choice([2, 2, 3]))]
        requests = [
            exactly(f"r{index}", selectors=[f"device.attributes['{DRIVER}'].model == '{kind}'"])
            for index, kind in enumerate(kinds)
        ]
        constraint = draw.choice(["matchAttribute", "matchAttribute", "distinctAttribute"])
        on = draw.choice(["root", "root", "root", "serial"])
        wanted = claim(*requests, name=f"c{step}", constraints=[{constraint: f"{DRIVER}/{on}"}])
        answers = state.cluster.place([Claim(wanted)], Mode.ALL_NODES, UNLIMITED).nodes
        assert without_share_ids(list(answers)) == without_share_ids(state.from_nothing([wanted]))
        if draw.random() < 0.5:
            state.keep(state.cluster.place([Claim(wanted)], Mode.SCHEDULER, UNLIMITED))


@pytest.mark.parametrize("place", ["nodeName", "nodeSelector", "allNodes"])
def test_slices_of_a_pool_cost_alike_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """All slices of a pool may change at once; none of them has the others looked through again."""
    count, steps = 60, 0
    places: dict[str, Any] = {
        "nodeName": "n0",
        "nodeSelector": {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]
        },
        "allNodes": True,
    }

    class Counted(PoolSlices):
        __slots__ = ()

        def __iter__(self) -> Iterator[Slice]:
            nonlocal steps
            for each in super().__iter__():
                steps += 1
                yield each

    monkeypatch.setattr("allocator.inventory.PoolSlices", Counted)
    state = SchedulingState(
        FEATURES["all"], [node(f"n{each}") for each in range(3)], {"any": device_class()}, []
    )
    for generation in (1, 2):
        for each in range(count):
            where = {place: places[place], "generation": generation, "count": count}
            state.put_slice(slice_of(device(f"d{each}"), name=f"s{each}", **where))
        assert len(state.place([Claim(claim(exactly()))], Mode.ALL_NODES, UNLIMITED).nodes) == 3
    assert 0 < steps < 20 * count
