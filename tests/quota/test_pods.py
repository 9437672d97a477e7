"""What pods count, as far as they share limits with claims."""

from __future__ import annotations

from typing import Any

import pytest

from quota import pods
from quota.amounts import written
from resourceapi.releases import Profile
from tests.quota.objects import container, pod

NEWEST, OLDEST = Profile("1.37"), Profile("1.34")
GPU = {"example.com/gpu": "2"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(pod(container()), {"count/pods": "1", "pods": "1"}, id="nothing-asked-for"),
        pytest.param(
            pod(container(GPU, GPU), container(GPU, GPU)),
            {"count/pods": "1", "pods": "1", "requests.example.com/gpu": "4"},
            id="extended-resource",
        ),
        pytest.param(
            pod(container({"deviceclass.resource.kubernetes.io/gpu": "1"})),
            {"count/pods": "1", "pods": "1", "requests.deviceclass.resource.kubernetes.io/gpu": "1"},
            id="implicit-extended-resource",
        ),
        pytest.param(
            pod(container({"cpu": "1", "memory": "1Gi"}, {"cpu": "2"})),
            {
                "count/pods": "1",
                "pods": "1",
                "cpu": "1",
                "requests.cpu": "1",
                "memory": "1Gi",
                "requests.memory": "1Gi",
                "limits.cpu": "2",
            },
            id="compute",
        ),
        pytest.param(
            pod(container({"hugepages-2Mi": "4Mi"}, {"hugepages-2Mi": "4Mi"})),
            {"count/pods": "1", "pods": "1", "hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi"},
            id="huge-pages",
        ),
        pytest.param(
            pod(container({"cpu": "1"}), overhead={"cpu": "500m"}),
            {"count/pods": "1", "pods": "1", "cpu": "1500m", "requests.cpu": "1500m"},
            id="overhead",
        ),
        pytest.param(
            pod(container({"cpu": "1"}), resources={"requests": {"cpu": "3"}}),
            {"count/pods": "1", "pods": "1", "cpu": "3", "requests.cpu": "3"},
            id="pod-level",
        ),
        pytest.param(
            {**pod(container(GPU, GPU)), "status": {"phase": "Succeeded"}}, {"count/pods": "1"}, id="ended"
        ),
    ],
)
def test_usage(obj: dict[str, Any], expected: dict[str, str]) -> None:
    """A pod counts what its containers need at the same time, under every name that a quota has for it."""
    assert written(pods.usage(obj, NEWEST)) == dict(sorted(expected.items()))


@pytest.mark.parametrize(
    ("obj", "required", "expected"),
    [
        pytest.param(pod(container()), ["pods"], "", id="only-compute-is-mandatory"),
        pytest.param(
            pod(container(), {"name": "b"}),
            ["requests.cpu", "limits.memory"],
            "must specify limits.memory for: b,c; requests.cpu for: b,c",
            id="all-that-is-missing",
        ),
        pytest.param(pod(container({"cpu": "1"})), ["cpu", "requests.cpu"], "", id="said"),
        pytest.param(
            pod(container(), resources={"requests": {"cpu": "1"}}), ["memory"], "", id="pod-level-is-enough"
        ),
    ],
)
def test_mandatory(obj: dict[str, Any], required: list[str], expected: str) -> None:
    """Where a quota limits computing time or memory, containers must say what they use."""
    assert pods.missing(obj, required, NEWEST) == expected


@pytest.mark.parametrize(
    ("obj", "scope", "expected"),
    [
        pytest.param(pod(container()), {"scopeName": "BestEffort"}, True, id="best-effort"),
        pytest.param(pod(container({"cpu": "1"})), {"scopeName": "BestEffort"}, False, id="not-best-effort"),
        pytest.param(
            pod(container(GPU, GPU)), {"scopeName": "NotBestEffort"}, False, id="devices-are-no-effort"
        ),
        pytest.param(pod(activeDeadlineSeconds=0), {"scopeName": "Terminating"}, True, id="terminating"),
        pytest.param(pod(), {"scopeName": "NotTerminating"}, True, id="not-terminating"),
        pytest.param(
            pod(priorityClassName="high"),
            {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]},
            True,
            id="priority-in",
        ),
        pytest.param(
            pod(),
            {"scopeName": "PriorityClass", "operator": "NotIn", "values": ["high"]},
            True,
            id="priority-not-in",
        ),
        pytest.param(pod(), {"scopeName": "PriorityClass", "operator": "Exists"}, False, id="no-priority"),
        pytest.param(
            pod(),
            {"scopeName": "PriorityClass", "operator": "DoesNotExist"},
            True,
            id="priority-does-not-exist",
        ),
        pytest.param(
            pod(
                affinity={
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"podAffinityTerm": {"namespaceSelector": {}}}
                        ]
                    }
                }
            ),
            {"scopeName": "CrossNamespacePodAffinity"},
            True,
            id="affinity-across-namespaces",
        ),
        pytest.param(pod(), {"scopeName": "VolumeAttributesClass"}, False, id="scope-of-volumes"),
    ],
)
def test_scopes(obj: dict[str, Any], scope: dict[str, Any], expected: bool) -> None:
    """Which pods belong to a scope that a quota is restricted to."""
    assert pods.in_scope(obj, {"operator": "Exists", **scope}) is expected


def test_pod_level_resources_by_release() -> None:
    """A release in which resources of the pod as a whole are off does not count them."""
    off = Profile("1.34", {"PodLevelResources": False})
    obj = pod(container({"cpu": "1"}), resources={"requests": {"cpu": "3"}})
    assert written(pods.usage(obj, off))["cpu"] == "1"
    assert written(pods.usage(obj, OLDEST))["cpu"] == "3"
