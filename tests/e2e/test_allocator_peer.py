"""Random small clusters, asked of kube-scheduler's allocator itself."""

from __future__ import annotations

import random

import pytest

from allocator.features import GATES
from resourceapi.encoding import encode
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from tests.allocator.objects import class_object
from tests.allocator.random_clusters import (
    NODES,
    on_every_node,
    random_claim,
    random_node,
    random_slice,
)
from tests.conformance import allocations
from tests.e2e import allocator_peer

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not allocator_peer.is_available(), reason="no allocator peer here (CLAIMCHECK_SHARED)"
    ),
]

DEFAULT = (
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceTaints",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
    "DRAResourceClaimDeviceStatus",
)


def random_scenario(number: int, mode: str) -> Object:
    """Some pods in a row; now and then claims of earlier ones are released."""
    draw = random.Random(f"{mode} {number}")
    slices: dict[str, Object] = {}
    for _ in range(8):
        slice = random_slice(draw)
        for each in on_every_node(slice) if draw.random() < 0.5 else [slice]:
            slices[each["metadata"]["name"]] = each
    pods: list[Object] = []
    for index in range(8):
        claims = [random_claim(draw, f"c{index}-{each}") for each in range(draw.choice([1, 1, 2]))]
        pod: Object = {"name": f"p{index}", "claims": [as_json("ResourceClaim", each) for each in claims]}
        if index and draw.random() < 0.3:
            pod["release"] = [f"c{draw.randrange(index)}-0"]
        pods.append(pod)
    gpu = ["device.driver == 'gpu.example.com'"]
    return {
        "name": f"{mode}-{number}",
        "features": draw.choice([sorted(GATES), list(DEFAULT)]),
        "mode": mode,
        "nodes": [_object(random_node(draw, name)) for name in NODES],
        "deviceClasses": [
            as_json("DeviceClass", each) for each in (class_object(), class_object("gpu", gpu))
        ],
        "resourceSlices": [as_json("ResourceSlice", each) for each in slices.values()],
        "claims": [],
        "pods": pods,
    }


def _object(node: Node) -> Object:
    metadata = {"name": node.name, "labels": dict(node.labels)}
    return {"metadata": metadata, "status": {"declaredFeatures": sorted(node.declared_features)}}


def as_json(kind: str, obj: Object) -> Object:
    return encode(SCHEMAS["v1"], kind, obj)


def plain(pod: Object, shares: dict[str, str]) -> Object:
    """What the peer says about a pod, as our answers say it: shares are numbered, times left out."""
    nodes = []
    for node in pod.get("nodes") or ():
        found = {name: node[name] for name in ("node", "error", "errorKind") if node.get(name)}
        results = node.get("result")
        for result in results or ():
            for device in result["devices"].get("results") or ():
                if "shareID" in device:
                    device["shareID"] = shares.setdefault(device["shareID"], f"share-{len(shares)}")
        nodes.append(found | {"result": results})
    return {"placed": pod.get("node") or "", "nodes": nodes}


@pytest.mark.parametrize("mode", ["first-fit", "all-nodes", "scheduler"])
def test_same_answers(mode: str) -> None:
    """The same devices on the same nodes, the same errors, the same node for each pod."""
    scenarios = [random_scenario(number, mode) for number in range(400)]
    different = []
    for scenario, peer in zip(scenarios, allocator_peer.answers(scenarios), strict=True):
        shares: dict[str, str] = {}
        theirs = [plain(pod, shares) for pod in peer["pods"]]
        case = {"id": scenario["name"], "scenario": scenario}
        ours = [
            {"placed": pod.get("placed", ""), "nodes": pod["nodes"]}
            for pod in allocations.answer(case)["pods"]
        ]
        if ours != theirs:
            different.append((scenario["name"], ours, theirs))
    assert [name for name, _, _ in different] == [], different[0]
