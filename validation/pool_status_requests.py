"""What must hold for a ResourcePoolStatusRequest (KEP-5677), beside what its fields declare."""

from __future__ import annotations

from resourceapi.equality import equal
from resourceapi.kinds import POOL_STATUS_REQUEST
from resourceapi.objects import EMPTY, Object
from validation.checks import Checks
from validation.conditions import check_conditions
from validation.kind_rules import DeviceKindRules, Labels
from validation.object_meta import check_metadata_update


class PoolStatusRequestRules(DeviceKindRules):
    """ResourcePoolStatusRequest."""

    kind = POOL_STATUS_REQUEST
    keeps_generation = True
    unconditional = ()

    def check_spec(self, spec: Object, checks: Checks) -> None:
        """Nothing: the fields declare all that must hold."""

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed request; that its spec stays as it is, the field declares."""
        check_metadata_update(obj, old, checks)

    def check_status(self, obj: Object, old: Object, checks: Checks, labels: Labels) -> None:
        """The answer is given once."""
        check_metadata_update(obj, old, checks)
        status, before = obj.get("status"), old.get("status")
        if before is None:
            check_conditions((status or EMPTY).get("conditions") or [], ("status", "conditions"), checks)
        elif not equal(status, before):
            shown = None if status is None else checks.internal("ResourcePoolStatusRequestStatus", status)
            checks.invalid(("status",), shown, "field is immutable")
