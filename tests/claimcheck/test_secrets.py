"""Events name nothing of other namespaces and tell no values, taints and labels, whatever the cluster is: on random ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from claimcheck.answers.explain import explain_all
from claimcheck.inputs import values_in
from claimcheck.watching.waiting_pods import note_on
from tests.claimcheck.random_inventories import Inventory, Json, inventory
from tests.claimcheck.test_one_story import Sidecar, Used, used

EACH, LEAST = 8, 20
#: Amounts that devices have, as no claim asks for them.
AMOUNTS = {"16Gi": "16411Mi", "40Gi": "40961Mi", "80Gi": "81929Mi", "5": "5003m", "10": "10007m"}
SECRET = re.compile(rf"secret-[a-z0-9-]+|{'|'.join(AMOUNTS.values())}", re.IGNORECASE)
#: What is written before and after a value, taint, label or namespace in the JSON of an object.
_VALUE = re.compile(r'(\\"|"string": ")(a100|h100|l4|new|worn-out)(?=\\?")', re.IGNORECASE)
_WORD = re.compile(r'"(zone|east|west|eats|reserved|worn|repair|team-a|team-b)"')
_TAINT = re.compile(r'("key": "[a-z-]+", "value": ")x"')
_AMOUNT = re.compile(r'("(?:memory|bandwidth)": {"value": ")([0-9]+(?:Gi)?)"')


def planted(found: Inventory) -> Inventory:
    """The same cluster with names and values that tell a secret."""
    return Inventory(*([_planted(each) for each in objects] for objects in found))


def _planted(obj: Json) -> Json:
    text = json.dumps(obj)
    if obj["kind"] == "ResourceSlice":
        text = _AMOUNT.sub(lambda each: f'{each[1]}{AMOUNTS[each[2]]}"', text)
    text = _VALUE.sub(r"\1secret-\2", text)
    text = _WORD.sub(r'"secret-\1"', text)
    text = _TAINT.sub(r'\1secret-x"', text)
    made: Json = json.loads(text)
    metadata = made["metadata"]
    if "namespace" in metadata:
        metadata["name"] = f"{metadata['namespace']}-{metadata['name']}"
    for each in made["spec"].get("resourceClaims", ()):
        each["resourceClaimName"] = f"{metadata['namespace']}-{each['resourceClaimName']}"
    return made


def _elsewhere(draw: Random, pod: Json) -> Json:
    """A pod that wants another node than there is, now and then."""
    labels = draw.choice(
        ({}, {}, {"foo": "bar"}, {"secret-zone": "secret-eats"}, {"secret-zoen": "secret-east"})
    )
    spec = {**pod["spec"], "nodeSelector": {**pod["spec"].get("nodeSelector", {}), **labels}}
    return {**pod, "spec": spec}


def _events(found: Used) -> Iterator[tuple[str, Any, str]]:
    """What `watch` and the sidecar tell each pod, by the pod's name."""
    objects = list(values_in([*found.claims, *found.waiting], found.cluster.profile))
    for each in explain_all(found.cluster.scenario(objects)).explained:
        yield each.workload.full_name, each.workload.namespace, note_on(each)
    sidecar = Sidecar(found)
    nodes = [each["metadata"]["name"] for each in found.objects if each["kind"] == "Node"]
    for pod in found.waiting:
        metadata = pod["metadata"]
        name = f"{metadata['namespace']}/{metadata['name']}"
        yield name, metadata["namespace"], sidecar.event(pod, nodes)


@pytest.mark.parametrize("start", [0, 20, 40, 60], ids=lambda start: f"inventories {start} and more")
def test_no_event_tells_a_secret(start: int) -> None:
    told = 0
    for seed in range(start, start + EACH):
        draw = Random(f"elsewhere {seed}")
        found = used(planted(inventory(seed)))
        waiting = [_elsewhere(draw, each) for each in found.waiting]
        placed = [each for each in found.objects if each not in found.waiting]
        found = found._replace(waiting=waiting, objects=[*placed, *waiting])
        for name, namespace, note in _events(found):
            own = _own(found, namespace)
            for secret in SECRET.findall(note):
                assert secret in own, (seed, name, note)
            told += bool(note)
    assert told >= LEAST


def _own(found: Used, namespace: str) -> set[str]:
    """The secrets of a namespace: what its pods and claims are called and say."""
    its = [each for each in found.objects if each["metadata"].get("namespace") == namespace]
    return set(SECRET.findall(json.dumps(its)))
