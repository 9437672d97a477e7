"""Rules about a device as it stands: the nodes it is for, gates, taints, who has it, what its driver asks of the node."""

from __future__ import annotations

from collections.abc import Iterable

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.device_shapes import DeviceShape
from allocator.devices import Device
from allocator.features import Features
from allocator.rules.rule import Evidence, Objection, Rule, because
from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from resourceapi.records.taints import Taint

# Devices with a place of their own are for certain nodes of those that their slice is for (KEP-4815).


class Placement(Rule):
    """The device is for the node."""

    name = "node"
    title = "on this node"
    selects = True

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        return device.reaches(state.node)

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        if self.admits(evidence.state, alternative, device):
            return None
        return because("for other nodes")


# Devices that use a feature whose gate is off are not there for kube-scheduler.

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


# Taints of devices and what tolerates them (KEP-5055).

_EFFECTS = ("NoSchedule", "NoExecute")


class Taints(Rule):
    """The request tolerates all taints of the device that have an effect on allocation; unknown effects have none."""

    name = "taint"
    title = "taints"

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        return not (
            device.taints
            and state.features.device_taints
            and any(_blocks(taint, alternative.tolerations, state.features) for taint in device.taints)
        )

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        features = evidence.state.features
        blocking = blocking_taints(device, alternative, features) if features.device_taints else ()
        return because(f"tainted {', '.join(map(str, blocking))}") if blocking else None


def blocking_taints(device: Device, alternative: Alternative, features: Features) -> list[Taint]:
    """The taints that keep the request from the device."""
    return [taint for taint in device.taints if _blocks(taint, alternative.tolerations, features)]


def is_tainted(device: Device, features: Features) -> bool:
    """Whether requests without tolerations do not get the device for its taints."""
    return features.device_taints and any(_blocks(taint, (), features) for taint in device.taints)


def _blocks(taint: Taint, tolerations: Iterable[Object], features: Features) -> bool:
    """Before 1.35, taints with unknown effects are to be tolerated as well."""
    if taint.effect not in _EFFECTS and features.minor >= 35:
        return False
    return not any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Object, taint: Taint) -> bool:
    """Whether a toleration is for the taint: an absent key or effect is for all of them."""
    for name, has in (("effect", taint.effect), ("key", taint.key)):
        wanted = toleration.get(name)
        if wanted and wanted != has:
            return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return bool(toleration.get("value", "") == taint.value)
    return bool(operator == "Exists")


# A device that is not shared belongs to one claim; with admin access it may be taken beside that
# (KEP-5018).


class ExclusiveUse(Rule):
    """Nobody else has the device; for requests with admin access, nobody in the same claim."""

    name = "allocated"
    title = "allocated devices"

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        claims = state.exclusive.get(device.id) if state.exclusive else None
        if alternative.admin_access:
            return not claims or alternative.claim not in claims or state.features.repeats_admin_access
        return not claims and device.id not in state.allocated.whole

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        state = evidence.state
        if alternative.admin_access and state.features.repeats_admin_access:
            return None
        taken = state.exclusive.get(device.id, frozenset())
        if alternative.claim in taken or (taken and not alternative.admin_access):
            return because("taken for another request of the pod")
        if alternative.admin_access or device.id not in state.allocated.whole:
            return None
        claims = evidence.holders_of(device)
        return Objection((), claims) if claims else because("held by a claim that is not known")


# Operations that a driver does not need on a node are left out only by nodes that can do so (gate
# DRAOptionalNodeOperations).

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


def declares_node_operations(node: Node) -> bool:
    """Whether a Node says in `status.declaredFeatures` that it can leave out operations."""
    return OPTIONAL_NODE_OPERATIONS in node.declared_features


class NodeOperations(Rule):
    """The node can leave out the operations that the device's slice says to skip."""

    name = "operations"
    title = "node operations"

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        if not device.slice.skips or not state.features.knows_node_operations:
            return True
        return state.features.optional_node_operations and declares_node_operations(state.node)

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        if self.admits(evidence.state, alternative, device):
            return None
        return because(f"the node does not declare {OPTIONAL_NODE_OPERATIONS}")
