"""A device that is not shared belongs to one claim; with admin access it may be taken beside that (KEP-5018)."""

from __future__ import annotations

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.rules.rule import Evidence, Objection, Rule, because


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
