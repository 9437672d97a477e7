"""In a few words, what nodes lack: the same for nodes that serve all claims alike, so that one of them is looked at."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import cast

import pytest

from allocator.explaining.shortfalls import Shortfalls
from allocator.explaining.snapshot import Seen
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.scheduling import SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.records.claims import Claim
from tests.allocator.objects import ALL_FEATURES, cluster, node
from tests.allocator.random_clusters import NODES, on_every_node, random_claim, random_slice


def _words(state: SchedulingState, claims: list[Claim]) -> dict[str, str]:
    seen = SimpleNamespace(
        features=ALL_FEATURES,
        nodes=state.nodes,
        inventory=state.inventory,
        allocated=state.allocated,
        holders={},
    )
    demand = state.demand(claims, UNLIMITED)
    shortfalls = Shortfalls(cast(Seen, seen), demand, SelectorOutcomes(UNLIMITED, UNLIMITED))
    return {name: shortfalls.on(name) for name in state.nodes}


@pytest.mark.parametrize("seed", range(150))
def test_nodes_that_serve_claims_alike_lack_the_same(seed: int) -> None:
    """Whatever else the nodes have."""
    random = Random(seed)
    slices = [random_slice(random) for _ in range(6)]
    state = cluster(
        *(each for slice in slices for each in on_every_node(slice)), nodes=[node(name) for name in NODES]
    )
    claims = [Claim(random_claim(random, f"c{number}")) for number in range(3)]
    said = _words(state, claims)
    kinds = state.alike(NODES)
    assert sorted(name for alike in kinds for name in alike) == sorted(NODES)
    for alike in kinds:
        assert len({said[name] for name in alike}) == 1, alike


def test_some_nodes_are_alike() -> None:
    """The random clusters have nodes that are, and nodes that are not."""
    counts = set()
    for seed in range(50):
        random = Random(seed)
        slices = [each for _ in range(6) for each in on_every_node(random_slice(random))]
        counts.add(len(cluster(*slices, nodes=[node(name) for name in NODES]).alike(NODES)))
    assert len(counts) > 1
    assert min(counts) < len(NODES)
