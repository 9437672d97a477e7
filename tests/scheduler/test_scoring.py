"""Scores: the formulas of KEP-4816 and of kube-scheduler, what an extender can say of them, and ties broken by waste."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from allocator.node_scores import in_tenths, kep_percent, points_of, upstream_percent
from allocator.results import places_of
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from scheduler.config import schema_of_config
from scheduler.decisions import Decision, Decisions
from scheduler.extender_api import CandidateNodes
from scheduler.scoring import (
    Offer,
    Scorer,
    Scoring,
    scores,
)
from tests.allocator.objects import (
    alternative,
    claim,
    cluster,
    device,
    device_class,
    exactly,
    first_of,
    held,
    node,
    slice_of,
)

CASES = yaml.safe_load((Path(__file__).parent / "data" / "scores.yaml").read_text("utf-8"))


def offers_of(case: Object) -> list[Offer]:
    waste = case.get("waste", {})
    return [
        Offer(name, places, tuple(map(float, waste[name])) if name in waste else None)
        for name, places in case["offers"].items()
    ]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_cases(case: Any) -> None:
    """Both formulas from 0 to 100, and the scores of an extender."""
    offers, allocated = offers_of(case), case.get("allocated", [])
    names = list(case["offers"])
    places = list(case["offers"].values())
    assert dict(zip(names, kep_percent(places, allocated), strict=True)) == case["kep"]
    assert dict(zip(names, upstream_percent(places, allocated), strict=True)) == case["upstream"]
    for scoring in Scoring:
        assert scores(scoring, offers, allocated) == case["scores"][scoring.value]


@pytest.mark.parametrize(
    ("places", "points"), [((), 0), ((0,), 8), ((7,), 1), ((3, 4), 9), ((7, 0), 9), ((7, 7), 2), ((0, 0), 16)]
)
def test_points(places: tuple[int, ...], points: int) -> None:
    """As upstream's unit tests have them."""
    assert points_of(places) == points


def test_exact_where_it_can_be() -> None:
    """Tenths are exact for all scores that have a tenth."""
    assert in_tenths(list(range(0, 101, 10))) == list(range(11))


def test_nearest_tenth_with_one_list() -> None:
    """With at most ten points between the best and the worst node, no score is more than half a tenth off."""
    for width in range(1, 11):
        percent = [points * 100 // width for points in range(width + 1)]
        tenths = in_tenths(percent)
        assert all(abs(10 * tenth - each) <= 5 for tenth, each in zip(tenths, percent, strict=True))
        assert len(set(tenths)) == width + 1


def test_order_of_random_scores() -> None:
    """Better is never less; up to eleven different scores stay different, of more the best stays apart."""
    draw = Random("tenths")
    for _ in range(2_000):
        percent = [draw.randrange(101) for _ in range(draw.randrange(1, 16))]
        if draw.random() < 0.5:
            percent += [0, 100]
        tenths = dict(zip(percent, in_tenths(percent), strict=True))
        levels = sorted(tenths)
        assert all(0 <= each <= 10 for each in tenths.values())
        assert all(tenths[worse] <= tenths[better] for worse, better in pairwise(levels))
        if len(levels) <= 11:
            assert len(set(tenths.values())) == len(levels)
        else:
            assert tenths[levels[-2]] < tenths[levels[-1]]


@pytest.mark.parametrize("scoring", list(Scoring))
def test_waste_never_beats_alternatives(scoring: Scoring) -> None:
    """Of two nodes the one with more points is never behind; with equal points the one that wastes less is not."""
    draw = Random("waste")
    for _ in range(2_000):
        length = draw.randrange(4)
        offers = [
            Offer(
                f"n{number}",
                [draw.randrange(8) for _ in range(length)],
                (float(draw.randrange(4)),) if draw.random() < 0.9 else None,
            )
            for number in range(draw.randrange(1, 16))
        ]
        found = scores(scoring, offers)
        plain = scores(scoring, [offer._replace(waste=None) for offer in offers])
        for one in offers:
            assert 0 <= found[one.node] <= 10
            for other in offers:
                if points_of(one.places) > points_of(other.places):
                    assert found[one.node] >= found[other.node]
                    assert found[one.node] > found[other.node] or plain[one.node] == plain[other.node]
                elif points_of(one.places) == points_of(other.places) and other.waste is None:
                    assert found[one.node] >= found[other.node]


def of_model(name: str) -> Object:
    return alternative(name, device_class=name)


def mixed_nodes() -> Any:
    """Node `good` has what is wanted most, node `poor` has not, and node `none` has nothing."""
    devices = {"good": device("d", attributes={"wanted": True}), "poor": device("d")}
    slices = [slice_of(each, name=name, pool=name, nodeName=name) for name, each in devices.items()]
    classes = [device_class(name, [f"device.driver != '' && '{name}' == '{name}'"]) for name in ("x",)]
    wanted = [
        device_class("first", ["device.attributes['gpu.example.com'].?rank.orValue('poor') == 'good'"]),
        device_class("second"),
    ]
    slices[0]["spec"]["devices"][0]["attributes"] = {"rank": {"string": "good"}}
    return cluster(
        *slices, classes=[*classes, *wanted], nodes=[node(name) for name in ("poor", "none", "good")]
    )


def decision(*, best_fit: bool = False) -> Decision:
    asked = claim(first_of("r", of_model("first"), of_model("second")))
    answers = mixed_nodes().filter([Claim(asked)], UNLIMITED, best_fit=best_fit).nodes
    places = {each.node: place for place, each in enumerate(answers) if each.fits}
    return Decision("uid", "ns", 0, [Claim(asked)], [], answers, places)


@pytest.mark.parametrize("best_fit", [False, True])
def test_prioritize(best_fit: bool) -> None:
    """The scores are those of what filter has found; nodes that nobody asked about get none."""
    decisions = Decisions()
    decisions.put(decision(best_fit=best_fit))
    pod = {"metadata": {"name": "p", "uid": "uid"}}
    scorer = Scorer(decisions, Scoring.KEP)
    assert scorer.scores(CandidateNodes(pod, ["good", "poor"])) == {"good": 10, "poor": 0}
    assert scorer.scores(CandidateNodes(pod, ["poor", "new"])) == {"poor": 10 * best_fit, "new": 0}
    other = {"metadata": {"name": "p", "uid": "other"}}
    assert scorer.scores(CandidateNodes(other, ["good", "poor"])) == {"good": 0, "poor": 0}


def test_places_of_allocated_claims() -> None:
    """Read from the claim's status: of several lists each, nothing for other requests and without an allocation."""
    spec = claim(exactly("plain"), first_of("r", of_model("a"), of_model("b")))["spec"]
    allocated = {**held("d", request="r/b"), "spec": spec}
    for claim_, expected in (
        (Claim(allocated), [1]),
        (Claim({"spec": spec}), []),
        (Claim({"status": {"allocation": {}}}), []),  # asks for nothing, as API servers store it
    ):
        assert places_of(claim_, claim_.allocation) == expected


def test_formulas_are_those_of_the_configuration() -> None:
    """Each by its name."""
    setting = schema_of_config()["properties"]["scheduling"]["properties"]["scoring"]
    assert setting["enum"] == [each.value for each in Scoring]
