"""What nodes have said to earlier pods never changes where a pod goes, or what is said of one that goes nowhere."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import pytest

from allocator.errors import FATAL
from allocator.node_fit import PodOnNode
from allocator.node_resources import NodeResources, PodNeeds
from allocator.node_scores import Candidate, NodeScores
from allocator.results import places_of
from allocator.scheduling import Mode, PodAnswer, SchedulingState
from allocator.scheduling_outcome import (
    SchedulingOutcome,
    device_reason,
    enough_nodes,
    feasible_nodes,
    outcome_of,
)
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.quantity import amounts_of
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from tests.allocator.objects import claim, cluster, device, exactly, node, slice_of
from tests.allocator.random_clusters import NODES, random_claim
from tests.allocator.test_incremental import FEATURES, ChangingCluster, without_share_ids

#: Pods of few kinds, so that most of them ask for what another one has asked for.
CLAIMS, MODES = 6, (Mode.PREFERRED, Mode.ATTEMPT, Mode.BEST_FIT)
ZONE = {
    "weight": 7,
    "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["2"]}]},
}
SPECS: tuple[Object, ...] = (
    {},
    {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [ZONE]}}},
)
NEEDS = (None, PodNeeds({"cpu": 1000}), PodNeeds({"cpu": 2000}, assumed={"cpu": 2000}))


class Expected(NamedTuple):
    """What becomes of a pod."""

    outcome: SchedulingOutcome
    error: str
    node: str = ""
    results: list[Object] | None = None
    equal: tuple[str, ...] = ()


@pytest.fixture(params=[None, 1], ids=["all-nodes", "first-nodes"])
def _wanted(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """kube-scheduler chooses from all nodes that fit, as in small clusters, or from the first one only."""
    if request.param is not None:
        for module in ("scheduling_outcome", "scheduling_cycle", "node_scores"):
            monkeypatch.setattr(f"allocator.{module}.feasible_nodes", lambda nodes: request.param)
        monkeypatch.setattr("tests.allocator.test_scheduling_cycle.feasible_nodes", lambda nodes: 1)


@pytest.mark.usefixtures("_wanted")
@pytest.mark.parametrize("profile", FEATURES)
@pytest.mark.parametrize("seed", range(6))
def test_pods_in_a_changing_cluster(profile: str, seed: int) -> None:
    """Slices, nodes, rules, classes, CPU and claims come and go between pods; each is placed as in a new cluster."""
    draw = random.Random(f"cycle {profile} {seed}")
    state = ChangingCluster(FEATURES[profile], draw)
    resources = state.cluster.resources = NodeResources()
    wanted = [random_claim(draw, f"wanted-{number}") for number in range(CLAIMS)]
    running: list[tuple[str, PodNeeds]] = []
    for step in range(40):
        change = draw.random()
        if change < 0.3:
            state.step()
        elif change < 0.45:
            state.release()
        elif change < 0.6:
            cpu = str(draw.choice([2, 4, 8]))
            name = draw.choice(NODES)
            resources.put(Node(name, allocatable=amounts_of({"cpu": cpu, "pods": "9"})))
        elif running and change < 0.7:
            resources.give_back(*running.pop(draw.randrange(len(running))))
        spec = draw.choice(wanted)["spec"]
        asked = [Claim({"metadata": {"namespace": "ns", "name": f"pod-{step}"}, "spec": spec})]
        if state.claims and draw.random() < 0.25:
            asked = [draw.choice(state.claims), *draw.choice([asked, []])]
        closed = draw.choice([frozenset[str](), frozenset("a")])
        on_node = PodOnNode(
            draw.choice(SPECS), draw.choice(NEEDS), resources, closed, {each: ["shut"] for each in closed}
        )
        mode = draw.choice(MODES)
        expected, reasons = _expected(_copy(state, resources), asked, mode, on_node)
        found = state.cluster.place(asked, mode, UNLIMITED, on_node=on_node)
        assert _seen(found) == expected
        if found.outcome is SchedulingOutcome.MISFIT and not found.refusal:
            assert found.reasons == reasons
        state.keep(found)
        if found.placed and on_node.needs is not None:
            resources.take(found.placed, on_node.needs)
            running.append((found.placed, on_node.needs))


def _copy(state: ChangingCluster, resources: NodeResources) -> SchedulingState:
    """A cluster of the same objects that has never been asked."""
    found = SchedulingState(state.features, state.nodes.values(), state.classes, [], resources)
    for rule in state.rules.values():
        found.put_rule(rule)
    for slice in state.slices.values():
        found.put_slice(slice)
    for each in state.claims:
        found.hold(each)
    return found


def _expected(
    cluster: SchedulingState, asked: list[Claim], mode: Mode, on_node: PodOnNode
) -> tuple[Expected, Counter[str]]:
    """What becomes of a pod if all nodes are asked, one after the other; with what is said of those that do not fit."""
    answer = cluster.place(asked, Mode.FILTER, UNLIMITED, on_node=on_node)
    total = len(cluster.nodes)
    reasons = Counter(device_reason(each.error) for each in answer.nodes.outcomes)
    for name in cluster.nodes:
        reasons.update(on_node.rejection(name) or ())
    if answer.refusal:
        return Expected(SchedulingOutcome.MISFIT, ""), reasons
    fitting = [place for place, each in enumerate(answer.nodes.outcomes) if each.fits]
    if mode is Mode.BEST_FIT:
        return _seen(cluster.place(asked, mode, UNLIMITED, on_node=on_node)), reasons
    enough = enough_nodes(total)
    end = fitting[enough - 1] + 1 if len(fitting) >= enough else len(answer.nodes)
    looked_at = answer.nodes.outcomes[:end]
    outcome = outcome_of(total, looked_at)
    failing = [answer.nodes[place].error for place, each in enumerate(looked_at) if each.error_kind == FATAL]
    error = failing[0] if failing else ""
    if outcome not in (SchedulingOutcome.FITS, SchedulingOutcome.CHANCE):
        return Expected(outcome, error), reasons
    chosen = fitting[0]
    equal: tuple[str, ...] = ()
    if mode is Mode.PREFERRED:
        scores = NodeScores(cluster.nodes, on_node.resources, FEATURES["all"].minor)
        candidates = [
            Candidate(answer.nodes[place].node, answer.nodes.outcomes[place].places)
            for place in fitting[: feasible_nodes(total)]
        ]
        allocated = [place for each in asked for place in places_of(each, each.allocation)]
        choice = scores.choose(on_node.spec, on_node.needs, candidates, allocated)
        chosen, equal = fitting[choice.place], choice.equal
    (node,) = without_share_ids([answer.nodes[chosen]])
    return Expected(outcome, error, node.node, node.result, equal), reasons


def _seen(found: PodAnswer) -> Expected:
    error = "" if found.error is None else found.error.error
    if not found.placed:
        return Expected(found.outcome, error)
    (node,) = without_share_ids([found.nodes[-1]])
    assert found.placed == node.node
    return Expected(found.outcome, error, node.node, node.result, found.equal)


@pytest.mark.parametrize("mode", MODES)
def test_only_nodes_that_have_changed_are_asked(mode: Mode) -> None:
    """After the first pod of a kind, one node is asked again for each: the one from which the pod before has a device."""
    names = [f"n{number}" for number in range(50)]
    serials = [
        [device(f"d{place}", attributes={"serial": f"{name}-{place}"}) for place in range(4)]
        for name in names
    ]
    slices = [
        slice_of(*devices, name=name, pool=name, nodeName=name)
        for name, devices in zip(names, serials, strict=True)
    ]
    state = cluster(*slices, nodes=[node(name) for name in names])
    efforts = [0]
    for number in range(20):
        assert state.place([Claim(claim(exactly(), name=f"pod-{number}"))], mode, UNLIMITED).placed
        efforts.append(sum(state.effort))
    first, *others = [after - before for before, after in pairwise(efforts)]
    assert first >= len(names)
    assert max(others) <= 6  # for each pod also those that tell what it gets


@pytest.mark.parametrize("mode", MODES)
def test_users_of_an_allocated_claim_are_not_looked_for_elsewhere(
    mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the node that has its devices is asked; if that is closed, all are asked what keeps the pod from them."""
    names = ["n1", "n2", "n3"]
    state = cluster(
        *(slice_of("d", name=name, pool=name, nodeName=name) for name in names),
        nodes=[node(name) for name in names],
    )
    shared = Claim(claim(exactly()))
    first = state.place([shared], mode, UNLIMITED)
    ((_, allocation),) = first.allocated.items()
    user = [shared.allocated(allocation)]
    asked: list[str] = []
    rejection = PodOnNode.rejection

    def noted(pod: PodOnNode, name: str) -> object:
        asked.append(name)
        return rejection(pod, name)

    monkeypatch.setattr(PodOnNode, "rejection", noted)
    assert state.place(user, mode, UNLIMITED).placed == first.placed
    assert {*asked} == {first.placed}
    shut = PodOnNode(closed=frozenset((first.placed,)), rejections={first.placed: ["shut"]})
    refused = state.place(user, mode, UNLIMITED, on_node=shut)
    assert not refused.placed
    assert refused.reasons == {"shut": 1, "resourceclaim not available on the node": 2}
