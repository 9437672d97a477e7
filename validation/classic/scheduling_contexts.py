"""What must hold for a PodSchedulingContext."""

from __future__ import annotations

from resourceapi.classic_kinds import POD_SCHEDULING_CONTEXT
from resourceapi.field_errors import DUPLICATE
from resourceapi.objects import EMPTY, Object
from validation.checks import Checks
from validation.classic.kind_rules import ClassicKindRules
from validation.classic.names import check_node_list


class PodSchedulingContextRules(ClassicKindRules):
    """PodSchedulingContext: its spec may change; the selected node is not looked at."""

    __slots__ = ()
    kind = POD_SCHEDULING_CONTEXT
    checked_twice = True

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """The nodes that the scheduler asks about."""
        check_node_list(obj.get("spec", EMPTY).get("potentialNodes"), ("spec", "potentialNodes"), checks)

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """The nodes that drivers rule out, once for each claim; a claim's name is not checked."""
        seen = set()
        for index, claim in enumerate(obj.get("status", EMPTY).get("resourceClaims") or ()):
            # not the field's name, but this is where the server reports the errors
            at = ("status", "claims", index)
            check_node_list(claim.get("unsuitableNodes"), (*at, "unsuitableNodes"), checks)
            name = claim.get("name", "")
            if name in seen:
                checks.report(DUPLICATE, at, name)
            seen.add(name)
