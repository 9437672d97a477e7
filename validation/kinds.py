"""Which rules hold for a kind."""

from __future__ import annotations

from resourceapi.kinds import KINDS, kind_in
from resourceapi.releases import Profile
from validation.claims import ClaimRules, ClaimTemplateRules, DeviceClassRules
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


def rules_of(group: str, kind: str, version: str, profile: Profile) -> KindRules | None:
    """The rules that a release has for a kind, or None if there are none.

    :param version: tells a kind of classic DRA from its namesake of today, as for :func:`resourceapi.kinds.kind_in`.
    """
    row = kind_in(group, kind, version)
    if row is not None:
        return RULES[kind] if row is KINDS.get(kind) else _classic_rules(kind)
    from validation import workloads  # only those who ask for pods need their rules

    return workloads.RULES.get((group, kind))


def _classic_rules(kind: str) -> KindRules | None:
    from validation.classic.kinds import RULES as CLASSIC_RULES

    return CLASSIC_RULES.get(kind)
