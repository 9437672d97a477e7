"""Which rules hold for a kind."""

from __future__ import annotations

from resourceapi.kinds import kind_in
from validation.claim_templates import ClaimTemplateRules
from validation.claims import ClaimRules
from validation.classes import DeviceClassRules
from validation.kind_rules import DeviceKindRules, KindRules
from validation.pool_status_requests import PoolStatusRequestRules
from validation.slice_patches import SlicePatchRules
from validation.slices import ResourceSliceRules
from validation.taint_rules import DeviceTaintRuleRules

RULES: dict[str, DeviceKindRules] = {
    rules.kind.name: rules
    for rules in (
        ClaimRules(),
        ClaimTemplateRules(),
        DeviceClassRules(),
        ResourceSliceRules(),
        DeviceTaintRuleRules(),
        PoolStatusRequestRules(),
        SlicePatchRules(),
    )
}


def rules_of(group: str, kind: str) -> KindRules | None:
    """The rules of a kind, or None if there are none."""
    if kind_in(group, kind) is not None:
        return RULES[kind]
    from validation import workloads  # only those who ask for pods need their rules

    return workloads.RULES.get((group, kind))
