"""Devices that use a feature whose gate is off are not there for kube-scheduler."""

from __future__ import annotations

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.device_shapes import DeviceShape
from allocator.devices import Device
from allocator.features import Features
from allocator.rules.rule import Evidence, Objection, Rule, because

GROUPS_OFF = "compatibility groups are off (DRADeviceCompatibilityGroups)"


def is_selectable(shape: DeviceShape, features: Features) -> bool:
    """Whether requests can select devices of a shape, wherever they are (KEP-5007, KEP-5963)."""
    return (features.binding_conditions or not shape.has_conditions) and (
        features.compatibility_groups or not shape.groups
    )


def _lacks_counters(device: Device, features: Features) -> bool:
    """Whether the device draws from counters, which are off; 1.33 overlooks that it does."""
    return bool(device.consumes) and not (features.partitionable_devices or features.only_own_counters)


class FeatureGates(Rule):
    """The features that the device uses are on; one that draws from counters is selected nevertheless by mode All."""

    name = "gate"
    title = "feature gates"
    selects = True

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        features = state.features
        return not _lacks_counters(device, features) and is_selectable(device.shape, features)

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        features = evidence.state.features
        if device.shape.has_conditions and not features.binding_conditions:
            return because("binding conditions are off (DRADeviceBindingConditions)")
        if device.groups and not features.compatibility_groups:
            return because(GROUPS_OFF)
        if _lacks_counters(device, features):
            return because("partitionable devices are off (DRAPartitionableDevices)")
        return None
