"""The scores of kube-scheduler's own plugin are those of `scoring: Upstream`, read from its log; it chooses the same alternatives."""

from __future__ import annotations

import re
from random import Random

from allocator.features import Features
from allocator.node_scores import upstream_percent
from allocator.results import places_of
from allocator.time_limit import UNLIMITED
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.releases import Profile
from tests.allocator.objects import (
    DRIVER,
    alternative,
    claim,
    cluster,
    device,
    device_class,
    exactly,
    first_of,
    node,
    slice_of,
)
from tests.e2e.control_plane import component, control_plane
from tests.e2e.scheduled import BOUND, LABEL, NAMESPACE, Setting, schedule

SEEDS = range(15)
MODELS = range(8)
CLASSES = [
    device_class(f"model-{model}", [f"device.attributes['{DRIVER}'].model == {model}"]) for model in MODELS
]
#: What the configuration of kube-scheduler gives the plugin.
WEIGHT = 2
#: It logs each score after normalising and weighing.
_LINE = re.compile(
    r'"Plugin scored node for pod" pod="([^"]+)" plugin="DynamicResources" node="([^"]+)" score=(\d+)'
)


def setting(seed: int) -> Setting:
    """Nodes with devices of several models, and claims for any of them; some have been allocated before."""
    draw = Random(f"scores {seed}")
    name = f"s{seed}"
    nodes = [f"{name}-{number}" for number in range(draw.randrange(3, 6))]
    slices = []
    for each in nodes:
        slices.append(slice_of(*models_of(draw), name=each, pool=each, nodeName=each))
    claims = [
        claim(*requests_for(draw), name=f"{name}-claim-{number}") for number in range(draw.randrange(1, 3))
    ]
    everywhere = {"nodeSelectorTerms": [{"matchExpressions": [_is_in(name)]}]}
    if draw.random() < 0.5:
        devices = [device("shared", attributes={"model": 0})]
        slices.append(slice_of(*devices, name=f"{name}-net", pool=f"{name}-net", nodeSelector=everywhere))
        claims.append(_allocated(draw, name, everywhere))
    labels = {LABEL: name}
    return Setting(name, [node(each, labels) for each in nodes], slices, [], claims)


def models_of(draw: Random) -> list[Object]:
    """Devices of any models."""
    models = [draw.choice(MODELS) for _ in range(6)]
    return [device(f"d{place}", attributes={"model": model}) for place, model in enumerate(models)]


def requests_for(draw: Random) -> list[Object]:
    """Requests for any of them."""
    return [_request(draw, f"r{number}") for number in range(draw.randrange(1, 4))]


def _request(draw: Random, name: str) -> Object:
    if draw.random() < 0.2:
        return exactly(name, selectors=["true"], device_class=f"model-{draw.choice(MODELS)}")
    models = draw.sample(MODELS, draw.randrange(1, 9))
    return first_of(name, *(alternative(f"m{model}", device_class=f"model-{model}") for model in models))


def _allocated(draw: Random, name: str, selector: Object) -> Object:
    """A claim that has one alternative of a list already."""
    requests = [first_of("r", *(alternative(f"m{model}", device_class=f"model-{model}") for model in MODELS))]
    found = claim(*requests, name=f"{name}-allocated")
    chosen = f"r/m{draw.choice(MODELS)}"
    result = {"request": chosen, "driver": DRIVER, "pool": f"{name}-net", "device": "shared"}
    # Without a time kube-scheduler would add one, which the server refuses.
    found["status"] = {
        "allocation": {
            "devices": {"results": [result]},
            "nodeSelector": selector,
            "allocationTimestamp": "2026-01-01T00:00:00Z",
        }
    }
    return found


def _is_in(name: str) -> Object:
    return {"key": LABEL, "operator": "In", "values": [name]}


def scores_of(of: Setting) -> dict[str, int]:
    """The scores of the nodes that fit, as an administrator would read them in the log."""
    state = cluster(*of.slices, features=Features(Profile("1.37", {}).gates), classes=CLASSES, nodes=of.nodes)
    for each in of.claims:
        state.hold(Claim(each))
    answers = state.filter([Claim(each) for each in of.claims], UNLIMITED).nodes
    places = {
        answers[place].node: outcome.places for place, outcome in enumerate(answers.outcomes) if outcome.fits
    }
    allocated = [place for each in map(Claim, of.claims) for place in places_of(each, each.allocation)]
    percent = upstream_percent(list(places.values()), allocated)
    return {node: WEIGHT * score for node, score in zip(places, percent, strict=True)}


def test_upstream() -> None:
    """Node by node; kube-scheduler does not score a node that is the only one."""
    settings = [setting(seed) for seed in SEEDS]
    with control_plane("1.37") as server, component(server, "kube-scheduler", ["-v=10"]) as scheduler:
        outcomes = schedule(server.client, settings, CLASSES)
        logged: dict[str, dict[str, int]] = {}
        for pod, name, score in _LINE.findall(scheduler.log.read_text(errors="replace")):
            logged.setdefault(pod, {})[name] = int(score)
        compared = 0
        for each in settings:
            expected = scores_of(each)
            assert (outcomes[each.name].outcome == BOUND) == bool(expected), outcomes[each.name]
            if len(expected) > 1:
                assert logged[f"{NAMESPACE}/{each.name}"] == expected, each.name
                compared += 1
    assert compared > len(settings) // 3, compared
    assert len({name_of(claim) for each in settings for claim in each.claims if claim.get("status")}) > 1
