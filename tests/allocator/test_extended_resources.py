"""The claim that kube-scheduler makes for extended resources; the expected requests are those of kube-scheduler 1.37.1."""

from __future__ import annotations

from typing import Any

import pytest

from allocator.node_resources import NodeResources, PodNeeds
from allocator.pod_claims import ExtendedRequests, claim_for, claims_by_nodes, classes_by_resource
from resourceapi.objects import Object
from resourceapi.quantity import amounts_of
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import Node

CLASSES = {
    "example.com/gpu": "gpu",
    "deviceclass.resource.kubernetes.io/gpu": "gpu",
    "example.com/nic": "nic",
}


def container(restart: str = "", called: str = "", **limits: int) -> Object:
    names = {"gpu": "example.com/gpu", "nic": "example.com/nic", "cpu": "cpu"}
    found: dict[str, Any] = {"resources": {"limits": {names[key]: str(n) for key, n in limits.items()}}}
    if called:
        found["name"] = called
    return {**found, "restartPolicy": restart} if restart else found


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        pytest.param([], [container(gpu=3, cpu=4)], {"container-0-request-1": ("gpu", 3)}, id="one"),
        pytest.param([], [container(cpu=4)], {}, id="none"),
        pytest.param(
            [],
            [container(gpu=1, nic=2), container(nic=1)],
            {
                "container-0-request-0": ("gpu", 1),
                "container-0-request-1": ("nic", 2),
                "container-1-request-0": ("nic", 1),
            },
            id="several",
        ),
        pytest.param(
            [container(gpu=2), container("Always", gpu=1)],
            [container(gpu=1, cpu=1)],
            {"container-1-request-0": ("gpu", 1), "container-2-request-1": ("gpu", 1)},
            id="first-containers-use-what-others-get",
        ),
        pytest.param(
            [container("Always", gpu=1), container(gpu=3), container(gpu=5)],
            [container(gpu=2)],
            {
                "container-0-request-0": ("gpu", 1),
                "container-2-request-0": ("gpu", 3),
                "container-3-request-0": ("gpu", 2),
            },
            id="only-the-largest-of-what-they-lack",
        ),
    ],
)
def test_claim(first: list[Object], then: list[Object], expected: dict[str, tuple[str, int]]) -> None:
    """A request for each container and resource."""
    found = claim_for("p", "ns", {"initContainers": first, "containers": then}, CLASSES)
    details = {each.name: each.alternatives[0] for each in found.devices.requests} if found else {}
    assert {name: (each.device_class, each.number) for name, each in details.items()} == expected


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        pytest.param(
            [],
            [container(called="a", gpu=1, nic=2), container(called="b", nic=1)],
            ["a gpu container-0-request-0", "a nic container-0-request-1", "b nic container-1-request-0"],
            id="by-resource",
        ),
        pytest.param(
            [container(called="i", gpu=2), container("Always", called="s", gpu=1)],
            [container(called="c", gpu=2)],
            [
                "s gpu container-1-request-0",
                "c gpu container-2-request-0",
                "i gpu container-1-request-0",
                "i gpu container-2-request-0",
            ],
            id="first-containers-use-as-many-of-the-others-as-they-need",
        ),
        pytest.param(
            [container(called="i", gpu=3), container(called="j", gpu=5), container(called="k", gpu=1)],
            [container(called="c", gpu=2)],
            [
                "c gpu container-3-request-0",
                "i gpu container-3-request-0",
                "i gpu container-1-request-0",
                "j gpu container-3-request-0",
                "j gpu container-1-request-0",
                "k gpu container-3-request-0",
            ],
            id="what-they-lack-is-requested-once",
        ),
    ],
)
def test_uses(first: list[Object], then: list[Object], expected: list[str]) -> None:
    """Which containers use which requests, in kube-scheduler's order: those that keep running come first."""
    found = ExtendedRequests({"initContainers": first, "containers": then}, CLASSES).uses()
    assert [f"{u.container} {u.resource.removeprefix('example.com/')} {u.request}" for u in found] == expected


@pytest.mark.parametrize(("containers", "requests"), [(1_000, 1_000), (1_001, 1_000)])
def test_no_more_requests_are_made(containers: int, requests: int) -> None:
    """A claim may have 32; of pods with thousands of containers, some of those beyond are left out."""
    found = claim_for("p", "ns", {"containers": [container(gpu=1) for _ in range(containers)]}, CLASSES)
    assert found is not None
    assert len(found.devices.requests) == requests


def test_device_plugins_come_first() -> None:
    """On nodes with a device plugin for a resource, nothing of it is claimed."""
    nodes = [
        Node(name, allocatable=amounts_of(dict.fromkeys(resources, "8")))
        for name, resources in {
            "none": ["cpu"],
            "gpu": ["example.com/gpu"],
            "both": ["example.com/gpu", "example.com/nic"],
        }.items()
    ]
    pod = {"containers": [container(gpu=1, nic=1)]}
    needs = PodNeeds({"example.com/gpu": 1, "example.com/nic": 1}, frozenset(CLASSES))
    found = claims_by_nodes("p", "ns", pod, needs, CLASSES, NodeResources(nodes))
    claimed = {
        name: [each.alternatives[0].device_class for each in entry.claim.devices.requests]
        if entry.claim
        else []
        for entry in found
        for name in entry.nodes
    }
    assert claimed == {"gpu": ["nic"], "both": []}


def test_classes() -> None:
    """Each class stands for a resource by its name; of those that share another name, the newest, then the first."""
    classes = [
        DeviceClass(name, extended_resource="x/y", created=created)
        for name, created in (
            ("a", "2025-01-01T00:00:00Z"),
            ("c", "2026-01-01T00:00:00Z"),
            ("b", "2026-01-01T00:00:00Z"),
        )
    ]
    found = classes_by_resource([*classes, DeviceClass("d")])
    assert found["x/y"] == "b"
    assert found["deviceclass.resource.kubernetes.io/d"] == "d"
    assert "deviceclass.resource.kubernetes.io/a" in found
