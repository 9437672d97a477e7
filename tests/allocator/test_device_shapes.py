"""Which devices are identical, and which of them selectors can tell apart."""

from __future__ import annotations

from typing import Any, get_origin

import pytest

from advice.device_inventory import NamedGroup
from allocator.device_shapes import DeviceValues, ShapeRegistry
from allocator.features import Reading
from deviceselectors.device_properties import DeviceGroup, properties_key
from resourceapi.objects import Object
from resourceapi.quantity import parse as parse_quantity
from resourceapi.spelling import canonical
from tests.allocator.objects import DRIVER, device, draws, slice_of
from webhook.devices import PlacedGroup

PLAIN: Object = {"attributes": {"model": "x"}, "capacity": {"memory": {"value": "1"}}}


def _decoded(*devices: Object, **spec: bool) -> list[Object]:
    fields: dict[str, Any] = dict(spec)
    found: list[Object] = slice_of(*devices, **fields)["spec"]["devices"]
    return found


@pytest.mark.parametrize(
    ("changed", "same_shape", "same_properties"),
    [
        ({}, True, True),
        ({"taints": [{"key": "k", "effect": "NoSchedule"}]}, False, True),
        ({"consumesCounters": [draws("s", {"m": "1"})]}, False, True),
        ({"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}, False, True),
        ({"attributes": {"model": "y"}}, False, False),
        ({"capacity": {"memory": {"value": "1000m"}}}, False, False),
        ({"capacity": {"memory": {"value": "1", "requestPolicy": {"default": "1"}}}}, False, False),
        ({"allowMultipleAllocations": True}, False, False),
    ],
)
def test_what_tells_devices_apart(changed: Object, same_shape: bool, same_properties: bool) -> None:
    """A shape is all of a device but its name; properties are what selectors see, with the policies of capacities."""
    one, other = _decoded(device("a", **_copy(PLAIN)), device("b", **_copy(PLAIN | changed)))
    registry = ShapeRegistry()
    shapes = registry.of_device(DRIVER, one), registry.of_device(DRIVER, other)
    assert (shapes[0] is shapes[1]) == same_shape
    assert (shapes[0].properties is shapes[1].properties) == same_properties
    assert (properties_key(DRIVER, one) == properties_key(DRIVER, other)) == same_properties


def _copy(fields: Object) -> Object:
    return {name: dict(value) if isinstance(value, dict) else value for name, value in fields.items()}


def test_drivers_tell_devices_apart() -> None:
    """The same fields mean other attributes for another driver."""
    (one,) = _decoded(device("a", **_copy(PLAIN)))
    registry = ShapeRegistry()
    assert registry.of_device(DRIVER, one).properties is not registry.of_device("nic", one).properties
    assert properties_key(DRIVER, one) != properties_key("nic", one)


def test_node_names_do_not_count() -> None:
    """Devices for nodes of their own are of one shape, but not of the shape of those without a node's name."""
    named, other, anywhere = _decoded(
        device("a", nodeName="one"),
        device("b", nodeName="two"),
        device("c", allNodes=True),
        perDeviceNodeSelection=True,
    )
    registry = ShapeRegistry()
    shapes = [registry.of_device(DRIVER, each) for each in (named, other, anywhere)]
    assert shapes[0] is shapes[1] is not shapes[2]
    assert shapes[0].properties is shapes[2].properties


def test_the_stable_allocator_hides_sharing() -> None:
    """kube-scheduler's stable allocator does not tell expressions that a device can be shared."""
    (one,) = _decoded(device("a", allowMultipleAllocations=True))
    for hidden in (False, True):
        properties = ShapeRegistry(Reading(hides_sharing=hidden)).of_device(DRIVER, one).properties
        assert properties.multiple
        assert properties.prepared.multiple is not hidden


def test_one_notion_of_a_device_group() -> None:
    """The inventory of files and the index of the cluster group devices in the same class."""
    assert get_origin(NamedGroup) is get_origin(PlacedGroup) is DeviceGroup


def test_values_are_what_they_were_made_of() -> None:
    """Whatever their type, and whether they have a value at all."""
    entries: Object = {
        "text": {"string": "x"},
        "number": {"int": 1},
        "yes": {"bool": True},
        "version": {"version": "1.0.0"},
        "list": {"ints": [1, 2]},
        "amount": {"value": parse_quantity("1Gi")},
        "bounded": {"value": parse_quantity("1"), "requestPolicy": {"default": "1"}},
        "empty": {},
        "none": None,
    }
    values = DeviceValues(entries)
    assert dict(values) == entries
    assert canonical(values) == canonical(entries)
    assert len(values) == len(entries)
    assert all(name in values and values.get(name) == entry for name, entry in entries.items())
    assert values.get("other", 1) == 1
    assert "other" not in values
