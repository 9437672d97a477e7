"""Tenants are told of remedies only in words that are meant for them."""

from __future__ import annotations

import json
import re
from random import Random

import pytest

from allocator.explaining import for_tenants
from allocator.explaining.explanation import ERROR, MISFIT, explain
from allocator.explaining.finder import Remedy, together
from allocator.explaining.snapshot import ClusterContent, Snapshot
from allocator.explaining.trials import Variation
from allocator.features import GATES, Features
from allocator.time_limit import UNLIMITED
from allocator.words import NOTHING, Words, for_all, joined
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from tests.allocator import random_clusters
from tests.allocator.objects import DRIVER, claim, device_class, exactly, held
from tests.allocator.random_clusters import NODES, random_claim, random_rule, random_slice

EXAMPLES, LEAST = 50, 5
TAINT = {"key": "secret-key", "value": "secret-value", "effect": "NoSchedule"}
MODEL = random_clusters.MODEL
#: Those of requests: one is misspelt, and one fails on devices without a model.
SELECTORS = (f"'model' in device.attributes['{DRIVER}'] && {MODEL} == 'secret-X'", f"{MODEL} == 'secret-y'")
CLASSES = {"any": device_class(), "gpu": device_class("gpu", [f"{MODEL} == 'secret-x'"])}
SECRET = re.compile(r"secret-[a-z0-9-]+")


def test_what_has_no_words_for_tenants_is_not_told() -> None:
    """Whatever kind it is of, by itself and together with others."""
    told = Remedy("old", for_all("with less"), "r", 1, ("n",), Variation(()))
    silent = Remedy("new", Words("with a secret"), "r", 1, ("n",), Variation(()))
    content = ClusterContent([Node("n", {})], {"any": device_class()}, [], [])
    snapshot = Snapshot(Features(GATES), content, time_limit=UNLIMITED)
    explanation = explain(snapshot, [Claim(claim(exactly()))], UNLIMITED)
    explanation.remedies = [
        silent,
        told,
        together((told,), silent, ("n",)),
        together((silent,), told, ("n",)),
    ]
    note = for_tenants.in_one_line(explanation, "ns", "p")
    assert "it would fit with less (on n)" in note
    assert "secret" not in note
    assert not NOTHING.for_tenants


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([for_all("a"), Words("with 7", "with less")], Words("a, and with 7", "a, and with less")),
        ([for_all("a"), Words("with a secret")], Words("a, and with a secret")),
    ],
    ids=["each", "one has none"],
)
def test_several_have_words_for_tenants_only_if_each_has(parts: list[Words], words: Words) -> None:
    assert joined(parts, ", and ") == words


@pytest.mark.parametrize("block", range(4))
def test_no_secret_is_told(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random clusters, in which another namespace holds devices."""
    monkeypatch.setattr(random_clusters, "TAINT", TAINT)
    monkeypatch.setattr(random_clusters, "SELECTORS", SELECTORS)
    told = 0
    for seed in range(block * EXAMPLES, (block + 1) * EXAMPLES):
        draw = Random(f"secrets {seed}")
        nodes = [Node(name, {"zone": draw.choice(["1", "2"])}) for name in NODES]
        slices = {each["metadata"]["name"]: _planted(each) for each in (random_slice(draw) for _ in range(8))}
        holders = [_held(draw, number) for number in range(draw.randrange(6))]
        rules = [random_rule(draw)._replace(name="secret-rule")]
        content = ClusterContent(nodes, CLASSES, list(slices.values()), map(Claim, holders), rules)
        snapshot = Snapshot(Features(GATES), content, time_limit=UNLIMITED)
        wanted = random_claim(draw, "c")
        explanation = explain(snapshot, [Claim(wanted)], UNLIMITED)
        if explanation.verdict not in (MISFIT, ERROR):
            continue
        note = for_tenants.in_one_line(explanation, "ns", "p")
        own = set(SECRET.findall(json.dumps(wanted, default=str)))
        assert set(SECRET.findall(note)) <= own, (seed, note)
        told += "it would fit" in note
    assert told >= LEAST


def _planted(slice: Object) -> Object:
    for device in slice["spec"].get("devices") or ():
        for name, value in (device.get("attributes") or {}).items():
            if name.endswith("model") and "string" in value:
                value["string"] = f"secret-{value['string']}"
    return slice


def _held(draw: Random, number: int) -> Object:
    made = held(f"d{draw.randrange(3)}", pool=draw.choice(NODES), name=f"secret-claim-{number}")
    made["metadata"]["namespace"] = "secret-namespace"
    made["status"]["reservedFor"] = [
        {"resource": "pods", "name": f"secret-pod-{number}", "uid": str(number), "apiGroup": ""}
    ]
    return made
