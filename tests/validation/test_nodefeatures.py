"""Devices that use up resources of nodes are for nodes that can account for them."""

from __future__ import annotations

from typing import Any

import pytest

from validation.nodefeatures import FEATURE, refuse_slice

Object = dict[str, Any]
NODES: dict[str, Object] = {
    name: {"metadata": {"name": name, "labels": {"zone": zone}}, **status}
    for name, zone, status in (
        ("able", "a", {"status": {"declaredFeatures": ["Other", FEATURE]}}),
        ("unable", "b", {"status": {"declaredFeatures": ["Other"]}}),
        ("silent", "c", {}),
    )
}
USING: Object = {"nodeAllocatableResources": {"cpu": {}}}


def in_zone(zone: str) -> Object:
    requirement = {"key": "zone", "operator": "In", "values": [zone]}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        pytest.param({"nodeName": "able"}, "", id="node-able"),
        pytest.param(
            {"nodeName": "unable"}, f'node "unable" does not support {FEATURE} feature', id="node-unable"
        ),
        pytest.param(
            {"nodeName": "silent"}, f'node "silent" does not support {FEATURE} feature', id="node-silent"
        ),
        pytest.param({"nodeName": "none"}, 'node "none" not found for device "d"', id="node-unknown"),
        pytest.param(in_zone("a"), "", id="selected-able"),
        pytest.param(in_zone("b"), f'node "unable" does not support {FEATURE} feature', id="selected-unable"),
        pytest.param(in_zone("z"), "", id="nothing-selected"),
        pytest.param({"allNodes": True}, f'node "unable" does not support {FEATURE} feature', id="all-nodes"),
    ],
)
def test_nodes_of_a_slice_or_of_a_device(where: Object, reason: str) -> None:
    """The first device whose node lacks the feature is the reason; a device can say itself for which nodes it is."""
    device = {"name": "d", **USING}
    assert refuse_slice({"spec": {**where, "devices": [{"name": "c"}, device]}}, NODES) == reason
    per_device = {
        "perDeviceNodeSelection": True,
        "devices": [{"name": "c", "nodeName": "none"}, {**device, **where}],
    }
    assert refuse_slice({"spec": per_device}, NODES) == reason


@pytest.mark.parametrize("spec", [{}, {"devices": None}, {"nodeName": "unable", "devices": [{"name": "d"}]}])
def test_devices_that_use_no_resources(spec: Object) -> None:
    """Where no device uses resources of nodes, nodes don't matter."""
    assert refuse_slice({"spec": spec}, NODES) == ""
