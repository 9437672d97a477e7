"""Devices that use up resources of nodes are for nodes that can account for them."""

from __future__ import annotations

import pytest

from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from validation.slices import FEATURE, UnusableSelector, refuse_slice

NODES = {
    "able": Node("able", {"zone": "a"}, declared_features=frozenset(("Other", FEATURE))),
    "unable": Node("unable", {"zone": "b"}, declared_features=frozenset(("Other",))),
    "silent": Node("silent", {"zone": "c"}),
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


@pytest.mark.parametrize(
    ("bounds", "wrong"),
    [
        pytest.param(["1", "-007"], "", id="numbers"),
        pytest.param(["", "1"], '{at}[0].values[0]: Invalid value: "": {why}', id="nothing"),
        pytest.param(
            ["1.5", "x"],
            '[{at}[0].values[0]: Invalid value: "1.5": {why}, {at}[1].values[0]: Invalid value: "x": {why}]',
            id="two",
        ),
    ],
)
def test_bounds_that_are_no_numbers(bounds: list[str], wrong: str) -> None:
    """The plugin reads the selector of a slice that it looks at; what it cannot read is a bad request."""
    requirements = [{"key": "zone", "operator": "Gt", "values": [bound]} for bound in bounds]
    selector = {"nodeSelectorTerms": [{"matchExpressions": requirements}]}
    spec = {"nodeSelector": selector, "devices": [{"name": "d", **USING}]}
    if not wrong:
        assert refuse_slice({"spec": spec}, NODES) == ""
        return
    at = "nodeSelectorTerms[0].matchExpressions"
    why = "for 'Gt', 'Lt' operators, the value must be an integer"
    with pytest.raises(UnusableSelector) as caught:
        refuse_slice({"spec": spec}, NODES)
    assert str(caught.value) == f"failed to create node selector: {wrong.format(at=at, why=why)}"
    assert refuse_slice({"spec": {**spec, "devices": [{"name": "d"}]}}, NODES) == ""


@pytest.mark.parametrize("spec", [{}, {"devices": None}, {"nodeName": "unable", "devices": [{"name": "d"}]}])
def test_devices_that_use_no_resources(spec: Object) -> None:
    """Where no device uses resources of nodes, nodes don't matter."""
    assert refuse_slice({"spec": spec}, NODES) == ""
