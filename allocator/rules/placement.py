"""Devices with a place of their own are for certain nodes of those that their slice is for (KEP-4815)."""

from __future__ import annotations

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.rules.rule import Evidence, Objection, Rule, because


class Placement(Rule):
    """The device is for the node."""

    name = "node"
    title = "on this node"
    selects = True

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        return not device.slice.per_device or device.reaches(state.node)

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        if self.admits(evidence.state, alternative, device):
            return None
        return because("for other nodes")
