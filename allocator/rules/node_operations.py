"""Operations that a driver does not need on a node are left out only by nodes that can do so (gate DRAOptionalNodeOperations)."""

from __future__ import annotations

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.rules.rule import Evidence, Objection, Rule, because
from resourceapi.objects import Object

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


def declares_node_operations(node: Object) -> bool:
    """Whether a Node says in `status.declaredFeatures` that it can leave out operations."""
    return OPTIONAL_NODE_OPERATIONS in ((node.get("status") or {}).get("declaredFeatures") or ())


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
