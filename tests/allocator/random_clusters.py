"""Random small clusters in motion: slices, nodes, rules and claims that come, change and go."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from resourceapi.records.taints import DeviceNames, DeviceTaintRule
from tests.allocator.objects import (
    DRIVER,
    alternative,
    claim,
    device,
    draws,
    exactly,
    first_of,
    node,
    slice_of,
)

NODES = ("a", "b", "c", "d")
DRIVERS = (DRIVER, "nic.example.com")
MODEL = f"device.attributes['{DRIVER}'].model"
SELECTORS = (
    f"{MODEL} == 'x'",
    "device.driver != 'nic.example.com'",
    f"{MODEL} in ['x', 'y']",
    "true",
    "false",
)
TAINT = {"key": "k", "effect": "NoSchedule"}


def random_node(draw: random.Random, name: str) -> Node:
    declared = ["DRAOptionalNodeOperations"] if draw.random() < 0.3 else []
    return node(name, {"zone": draw.choice(["1", "2"])}, declared)


def random_slice(draw: random.Random) -> Object:
    """A slice of one of few pools; often they are incomplete, out of date or not valid."""
    number = draw.randrange(12)
    at = NODES[number % 4]
    pool = draw.choice(["shared", "spread", at, at, at])
    place, per_device = _place(draw, pool, at)
    spec: Object = {
        "name": f"slice-{number}",
        "pool": pool,
        "driver": draw.choice(DRIVERS),
        "generation": draw.choice([1, 1, 1, 2]),
        "count": draw.choice([1, 1, 1, 2]),
        **place,
    }
    if draw.random() < 0.2:
        spec["skipNodeOperations"] = ["*"]
    if draw.random() < 0.25:
        sets = draw.choice([("s",), ("s", "t")])
        spec["sharedCounters"] = [{"name": each, "counters": {"m": {"value": "3"}}} for each in sets]
        return slice_of(**spec)
    devices = [_device(draw, index, per_device) for index in range(draw.randrange(1, 4))]
    return slice_of(*devices, **spec)


def on_every_node(slice: Object, *, serial: bool = False) -> list[Object]:
    """Slices like one of a node's own, with other names, for all nodes; any other slice as it is.

    `serial`: every device has an attribute that no other has.
    """
    spec = slice["spec"]
    at = spec.get("nodeName")
    if at is None or spec["pool"]["name"] != at:
        return [slice]
    name = slice["metadata"]["name"]
    return [
        {
            "metadata": {"name": f"{name}-{each}"},
            "spec": {
                **spec,
                "nodeName": each,
                "pool": {**spec["pool"], "name": each},
                "devices": [_renamed(one, each, serial) for one in spec.get("devices", ())],
            },
        }
        for each in NODES
    ]


def _renamed(device: Object, at: str, serial: bool) -> Object:
    name = f"{at}-{device['name']}"
    attributes = device["attributes"] | ({"serial": {"string": name}} if serial else {})
    return {**device, "name": name, "attributes": attributes}


def _place(draw: random.Random, pool: str, at: str) -> tuple[Object, bool]:
    if pool not in ("shared", "spread") or (pool == "spread" and draw.random() < 0.7):
        return {"nodeName": at}, False
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [draw.choice(["1", "2"])]}]}]
    places: list[tuple[Object, bool]] = [
        ({"allNodes": True}, False),
        ({"nodeSelector": {"nodeSelectorTerms": terms}}, False),
        ({"perDeviceNodeSelection": True}, True),
    ]
    return draw.choice(places)


def _device(draw: random.Random, index: int, per_device: bool) -> Object:
    fields: Object = {"attributes": {"model": draw.choice(["x", "y"]), "root": draw.choice([1, 2])}}
    if draw.random() < 0.15:
        fields["attributes"] = {"root": 1}
    if per_device:
        fields |= draw.choice([{"allNodes": True}, {"nodeName": draw.choice(NODES)}])
    if draw.random() < 0.2:
        fields["taints"] = [TAINT]
    if draw.random() < 0.15:
        fields["bindingConditions"] = ["ready"]
        fields["bindingFailureConditions"] = ["broken"]
    if draw.random() < 0.3:
        fields["capacity"] = {"memory": {"value": "4"}}
        if draw.random() < 0.7:
            fields["capacity"]["memory"]["requestPolicy"] = {"default": "1"}
            fields["allowMultipleAllocations"] = True
    if draw.random() < 0.3:
        groups = draw.choice([None, None, ["g"], ["h"], ["g", "h"]])
        fields["consumesCounters"] = [draws(draw.choice("sst"), {"m": draw.choice("12")}, groups)]
    return device(f"d{index}", **fields)


def random_claim(draw: random.Random, name: str) -> Object:
    """A claim with one or two requests, now and then one that is an error."""
    requests = [_request(draw, f"r{index}") for index in range(draw.choice([1, 1, 2]))]
    constraints = []
    if draw.random() < 0.35:
        kind = draw.choice(["matchAttribute", "distinctAttribute"])
        constraints.append({kind: f"{DRIVER}/{draw.choice(['root', 'root', 'root', 'serial'])}"})
    return claim(*requests, name=name, constraints=constraints)


def _request(draw: random.Random, name: str) -> Object:
    if draw.random() < 0.25:
        return first_of(name, *(_ask(draw, alternative, f"s{index}") for index in range(2)))
    more: Object = {"adminAccess": True} if draw.random() < 0.1 else {}
    return _ask(draw, exactly, name, **more)


def _ask(draw: random.Random, make: Callable[..., Object], name: str, **fields: Any) -> Object:
    if draw.random() < 0.4:
        fields["selectors"] = [draw.choice(SELECTORS)]
    if draw.random() < 0.3:
        fields["tolerations"] = [{"operator": "Exists"}]
    if draw.random() < 0.25:
        fields["capacity"] = {"memory": draw.choice(["1", "3", "9"])}
    count = draw.choice([1, 1, 1, 2, None])
    return make(
        name, count, draw.choice(["any", "any", "gpu", "none" if draw.random() < 0.1 else "any"]), **fields
    )


def random_rule(draw: random.Random) -> DeviceTaintRule:
    selector = {"driver": draw.choice(DRIVERS)}
    if draw.random() < 0.5:
        selector["pool"] = draw.choice(NODES)
    if draw.random() < 0.3:
        selector["device"] = "d0"
    return DeviceTaintRule(f"rule-{draw.randrange(2)}", DeviceNames(**selector), TAINT)
