"""Which rules hold for a kind of classic DRA."""

from __future__ import annotations

from validation.classic.claims import ClaimRules, ClaimTemplateRules
from validation.classic.classes import ResourceClassRules
from validation.classic.kind_rules import ClassicKindRules
from validation.classic.parameters import ResourceClaimParametersRules, ResourceClassParametersRules
from validation.classic.scheduling_contexts import PodSchedulingContextRules
from validation.classic.slices import ResourceSliceRules

RULES: dict[str, ClassicKindRules] = {
    rules.kind.name: rules
    for rules in (
        ResourceClassRules(),
        ClaimRules(),
        ClaimTemplateRules(),
        PodSchedulingContextRules(),
        ResourceClaimParametersRules(),
        ResourceClassParametersRules(),
        ResourceSliceRules(),
    )
}
