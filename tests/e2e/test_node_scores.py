"""Nodes get the scores that kube-scheduler logs, but for what is the same on all of them, and it binds the pod to one of the best."""

from __future__ import annotations

import re
from random import Random

from allocator.features import Features
from allocator.node_resources import NodeResources, needs_of
from allocator.node_scores import Candidate, NodeScores
from allocator.pod_nodes import PREFERRED
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.quantity import amounts_of
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from resourceapi.records.taints import Taint
from resourceapi.releases import Profile
from tests.allocator.objects import claim, cluster, node, slice_of
from tests.e2e.control_plane import component, control_plane
from tests.e2e.scheduled import BOUND, LABEL, NAMESPACE, PodOutcome, Setting, schedule
from tests.e2e.test_scores import CLASSES, models_of, requests_for

SEEDS = range(40)

RELEASE = "1.37"
_LINE = re.compile(r'"Calculated node\'s final score for pod" pod="([^"]+)" node="([^"]+)" score=(\d+)')
_CPU, _MEMORY = ("0", "100m", "500m", "1", "3", "7500m"), ("0", "64Mi", "1Gi", "5G", "17Gi")


def setting(seed: int) -> Setting:
    """Nodes of several sizes, with pods, labels and taints, and a pod that prefers some of them."""
    draw = Random(f"node scores {seed}")
    name = f"n{seed}"
    nodes = [_node(draw, f"{name}-{number}", name) for number in range(draw.randrange(2, 7))]
    names = [each.name for each in nodes]
    slices = [slice_of(*models_of(draw), name=each, pool=each, nodeName=each) for each in names]
    claims = [claim(*requests_for(draw), name=f"{name}-claim-0")]
    others = [
        _other(draw, f"{name}-other-{number}", draw.choice(names)) for number in range(draw.randrange(6))
    ]
    return Setting(name, nodes, slices, [], claims, _pod(draw, name), others)


def _node(draw: Random, name: str, setting: str) -> Node:
    made = node(name, {LABEL: setting, "size": draw.choice("sml")})
    size = draw.choice((8, 8, 16, 61))
    allocatable = {"cpu": str(size), "memory": f"{size * draw.choice((1, 4))}Gi", "pods": "110"}
    keys = [key for key in ("a", "b") if draw.random() < 0.2]
    taints = tuple(Taint(key, "v", "PreferNoSchedule") for key in keys)
    return made._replace(taints=taints, allocatable=amounts_of(allocatable))


def _containers(draw: Random) -> list[Object]:
    return [
        {"name": f"c{number}", "image": "x", "resources": {"requests": _requests(draw)}}
        for number in range(draw.randrange(1, 3))
    ]


def _requests(draw: Random) -> Object:
    found = {"cpu": draw.choice(_CPU), "memory": draw.choice(_MEMORY)}
    return {name: amount for name, amount in found.items() if draw.random() < 0.6}


def _other(draw: Random, name: str, where: str) -> Object:
    spec = {"nodeName": where, "containers": _containers(draw)}
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def _pod(draw: Random, setting: str) -> Object:
    spec: Object = {"nodeSelector": {LABEL: setting}, "containers": _containers(draw)}
    if draw.random() < 0.5:
        terms = [
            {"weight": draw.randrange(1, 101), "preference": {"matchExpressions": [_is(draw.choice("sml"))]}}
            for _ in range(draw.randrange(1, 3))
        ]
        spec["affinity"] = {"nodeAffinity": {PREFERRED: terms}}
    if draw.random() < 0.3:
        spec["tolerations"] = [{"key": "a", "operator": "Exists"}]
    return spec


def _is(size: str) -> Object:
    return {"key": "size", "operator": "In", "values": [size]}


def scores_of(of: Setting, profile: Profile) -> dict[str, int]:
    """The scores of the nodes that fit."""
    resources = NodeResources(of.nodes)
    for each in of.others:
        resources.take(each["spec"]["nodeName"], needs_of(each["spec"], profile))
    features = Features(profile.gates, profile.minor)
    state = cluster(*of.slices, features=features, classes=CLASSES, nodes=of.nodes)
    needs = needs_of(dict(of.pod), profile)
    answers = state.filter([Claim(each) for each in of.claims], UNLIMITED).nodes
    candidates = [
        Candidate(answers[place].node, outcome.places)
        for place, outcome in enumerate(answers.outcomes)
        if outcome.fits and answers[place].node not in resources.closed(needs)
    ]
    scores = NodeScores(state.nodes, resources, profile.minor).scores(of.pod, needs, candidates)
    return {each.node: score for each, score in zip(candidates, scores, strict=True)}


def _above_least(scores: dict[str, int]) -> dict[str, int]:
    return {name: score - min(scores.values()) for name, score in scores.items()}


def _is_best(outcome: PodOutcome, scores: dict[str, int]) -> bool:
    return outcome.outcome == BOUND and scores[outcome.node] == max(scores.values())


def test_scores() -> None:
    """Node by node; kube-scheduler does not score a node that is the only one."""
    settings = [setting(seed) for seed in SEEDS]
    with control_plane(RELEASE) as server, component(server, "kube-scheduler", ["-v=10"]) as scheduler:
        outcomes = schedule(server.client, settings, CLASSES)
        log = scheduler.log.read_text(errors="replace")
    logged: dict[str, dict[str, int]] = {}
    for pod, name, score in _LINE.findall(log):
        logged.setdefault(pod, {})[name] = int(score)
    expected = {each.name: scores_of(each, Profile(RELEASE, {})) for each in settings}
    several = {name: scores for name, scores in expected.items() if len(scores) > 1}
    assert {name: _above_least(logged[f"{NAMESPACE}/{name}"]) for name in several} == {
        name: _above_least(scores) for name, scores in several.items()
    }
    fitting = {name: scores for name, scores in expected.items() if scores}
    assert [name for name, scores in fitting.items() if not _is_best(outcomes[name], scores)] == []
    assert len(several) > len(settings) // 2
