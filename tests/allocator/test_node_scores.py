"""The node that kube-scheduler chooses: each score by itself, and their sum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from allocator.node_resources import NodeResources, needs_of
from allocator.node_scores import Candidate, NodeScores
from allocator.pod_nodes import node_rules
from allocator.scheduling import Mode
from allocator.simulation import UNHURRIED, Simulation
from allocator.simulation import Pod as SimulatedPod
from allocator.time_limit import OutOfTime, TimeLimit
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import read_node
from resourceapi.releases import Profile
from tests.allocator.objects import (
    alternative,
    claim,
    cluster,
    device_class,
    exactly,
    first_of,
    node,
    slice_of,
)

CASES = yaml.safe_load((Path(__file__).parent / "data" / "node_scores.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_scores(case: Any) -> None:
    """The scores that add up; what is the same on all nodes is left out."""
    profile = Profile(case.get("release", "1.37"), {})
    known = [read_node({"metadata": {"name": name}, **each}) for name, each in case["nodes"].items()]
    nodes = {node.name: node for node in known if node is not None}
    resources = NodeResources(nodes.values())
    for name, specs in case.get("pods", {}).items():
        for spec in specs:
            resources.take(name, needs_of(spec, profile))
    spec = case.get("pod", {})
    needs = needs_of(spec, profile) if spec else None
    places = case.get("places", {})
    candidates = [Candidate(name, places.get(name, ())) for name in nodes]
    scores = NodeScores(nodes, resources, profile.minor)
    found = scores.scores(spec, needs, candidates, case.get("allocated", ()))
    assert dict(zip(nodes, found, strict=True)) == case["scores"]
    choice = scores.choose(spec, needs, candidates, case.get("allocated", ()))
    assert (candidates[choice.place].node, list(choice.equal)) == (case["chosen"], case.get("equal", []))


def test_alternatives() -> None:
    """The least preferred device is not taken because its node comes first (KEP-4816)."""
    classes = [
        device_class(name, [f"device.attributes['gpu.example.com'].size == '{name}'"])
        for name in ("big", "mid", "small")
    ]
    nodes = {"a-small": "small", "b-mid": "mid", "c-big": "big"}
    slices = [
        slice_of({"name": "d", "attributes": {"size": {"string": size}}}, name=name, pool=name, nodeName=name)
        for name, size in nodes.items()
    ]
    wanted = first_of("gpu", *(alternative(size, device_class=size) for size in ("big", "mid", "small")))
    pods = [
        SimulatedPod(name, {f"ns/{name}": Claim(claim(wanted, name=name))}) for name in ("p", "q", "r", "s")
    ]
    placed = {
        mode: [
            each.node
            for each in Simulation(
                cluster(*slices, classes=classes, nodes=[node(name) for name in nodes]), UNHURRIED
            ).run(pods, mode)
        ]
        for mode in (Mode.PREFERRED, Mode.ATTEMPT)
    }
    assert placed[Mode.PREFERRED] == ["c-big", "b-mid", "a-small", ""]
    assert placed[Mode.ATTEMPT] == ["a-small", "b-mid", "c-big", ""]


def test_ties() -> None:
    """Of equal nodes the first is taken, and the others are told."""
    names = ("n1", "n2", "n3")
    slices = [slice_of("d", name=name, pool=name, nodeName=name) for name in names]
    simulation = Simulation(cluster(*slices, nodes=[node(name) for name in names]), UNHURRIED)
    pods = [
        SimulatedPod(name, {f"ns/{name}": Claim(claim(exactly(), name=name))}) for name in ("p", "q", "r")
    ]
    placed = simulation.run(pods, Mode.PREFERRED)
    assert [(each.node, each.equal) for each in placed] == [("n1", ("n2", "n3")), ("n2", ("n3",)), ("n3", ())]


def test_many_nodes() -> None:
    """It chooses from the first nodes that it finds: of 200 nodes that fit, from 100."""
    names = [f"n{number:03}" for number in range(200)]
    nodes = {name: node(name) for name in names}
    places = [*[[1]] * 100, *[[0]] * 100]
    candidates = [Candidate(name, each) for name, each in zip(names, places, strict=True)]
    choice = NodeScores(nodes, None, 37).choose({}, None, candidates)
    assert (choice.place, len(choice.equal)) == (0, 99)


def test_time() -> None:
    """Terms of node affinity are no longer looked at once the time is over."""
    spec = CASES[0]["pod"]
    nodes = {name: node(name) for name in ("n1", "n2")}
    over = TimeLimit(0.0)
    with pytest.raises(OutOfTime):
        NodeScores(nodes, None, 37).choose(spec, None, [Candidate(name) for name in nodes], time_limit=over)


def test_alternatives_of_pods_of_the_sidecar() -> None:
    """It scores alternatives in every release, and what is known of pods of kube-scheduler 1.34 does not count for its own."""
    state = cluster(
        *(slice_of({"name": "d"}, name=name, pool=name, nodeName=name) for name in ("n1", "n2")),
        nodes=[node("n1"), node("n2")],
    )
    scores = NodeScores(state.nodes, None, 34)
    candidates = [Candidate("n1", (3,)), Candidate("n2", (0,))]
    assert scores.choose({}, None, candidates).place == 0
    assert scores.choose({"schedulerName": "claimcheck"}, None, candidates).place == 1
    assert node_rules({}) != node_rules({"schedulerName": "claimcheck"})
