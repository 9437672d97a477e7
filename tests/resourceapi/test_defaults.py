"""Defaults; what the server fills in is recorded in `tests/validation/cases`, here is how it is done."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from conversion.hub import apply_defaults
from resourceapi.objects import Object

NOW = "2026-01-02T03:04:05Z"


def claim(*requests: Object) -> Object:
    return {"spec": {"devices": {"requests": list(requests)}}}


def exact(**details: Any) -> Object:
    return {"name": "a", "exactly": details}


def alternative(**details: Any) -> Object:
    return {"name": "a", "firstAvailable": [details]}


@pytest.mark.parametrize(
    ("version", "request_", "expected"),
    [
        pytest.param("v1", exact(), exact(allocationMode="ExactCount", count=1), id="nothing"),
        pytest.param("v1", exact(allocationMode="All"), exact(allocationMode="All"), id="all-has-no-count"),
        pytest.param("v1", exact(count=2), exact(allocationMode="ExactCount", count=2), id="count"),
        pytest.param(
            "v1", exact(allocationMode="X"), exact(allocationMode="X"), id="unknown-mode-has-no-count"
        ),
        pytest.param("v1beta1", exact(), exact(), id="v1beta1-without-class"),
        pytest.param(
            "v1beta1",
            exact(deviceClassName="a"),
            exact(deviceClassName="a", allocationMode="ExactCount", count=1),
            id="v1beta1",
        ),
        pytest.param(
            "v1beta1",
            alternative(),
            alternative(allocationMode="ExactCount", count=1),
            id="v1beta1-alternative",
        ),
        pytest.param(
            "v1", alternative(allocationMode="All"), alternative(allocationMode="All"), id="alternative-all"
        ),
        pytest.param(
            "v1",
            exact(allocationMode="All", tolerations=[{}, {"operator": "Exists"}]),
            exact(allocationMode="All", tolerations=[{"operator": "Equal"}, {"operator": "Exists"}]),
            id="tolerations",
        ),
        pytest.param(
            "v1",
            alternative(allocationMode="All", tolerations=[{}]),
            alternative(allocationMode="All", tolerations=[{"operator": "Equal"}]),
            id="tolerations-of-an-alternative",
        ),
        pytest.param("v1", {"name": "a"}, {"name": "a"}, id="neither"),
    ],
)
def test_requests(version: str, request_: Object, expected: Object) -> None:
    """Claims, and templates in the same way, get a mode, a count and operators of tolerations."""
    obj = claim(copy.deepcopy(request_))
    apply_defaults("ResourceClaim", version, obj, NOW)
    assert obj == claim(expected)
    template = {"spec": claim(copy.deepcopy(request_))}
    apply_defaults("ResourceClaimTemplate", version, template, NOW)
    assert template == {"spec": claim(expected)}


def test_results() -> None:
    """Tolerations in an allocation get operators too."""
    obj: Object = {"status": {"allocation": {"devices": {"results": [{"tolerations": [{}]}, {}]}}}}
    apply_defaults("ResourceClaim", "v1", obj, NOW)
    assert obj["status"]["allocation"]["devices"]["results"] == [{"tolerations": [{"operator": "Equal"}]}, {}]


def test_times_of_taints() -> None:
    """A taint was added now unless it says otherwise."""
    older = {"key": "b", "timeAdded": "2025-01-02T03:04:05Z"}
    obj: Object = {"spec": {"devices": [{"taints": [{"key": "a"}, dict(older)]}, {}]}}
    apply_defaults("ResourceSlice", "v1", obj, NOW)
    assert obj["spec"]["devices"] == [{"taints": [{"key": "a", "timeAdded": NOW}, older]}, {}]


@pytest.mark.parametrize("rule", [{}, {"spec": {}}, {"spec": {"taint": {}}}])
def test_rules_always_have_a_taint(rule: Object) -> None:
    """The taint of a DeviceTaintRule is no pointer, so that it gets a time even where it is missing."""
    apply_defaults("DeviceTaintRule", "v1", rule, NOW)
    assert rule == {"spec": {"taint": {"timeAdded": NOW}}}


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass"])
def test_nothing_to_fill_in(kind: str) -> None:
    """Objects without what has defaults stay as they are."""
    obj: Object = {}
    apply_defaults(kind, "v1", obj, NOW)
    assert obj == {}
