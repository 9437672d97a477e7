"""What must hold for a ResourceClaim (KEP-4381)."""

from __future__ import annotations

from typing import ClassVar

from resourceapi.equality import equal
from resourceapi.field_errors import INVALID
from resourceapi.kinds import CLAIM
from resourceapi.objects import EMPTY, Object
from validation.cacheable_rules import CacheableKindRules
from validation.checks import Checks
from validation.device_claims import ADMIN_ACCESS, check_device_claim, shown_spec
from validation.kind_rules import Labels
from validation.object_meta import check_metadata_update


class ClaimRules(CacheableKindRules):
    """ResourceClaim."""

    __slots__ = ()
    kind = CLAIM
    keeps_generation = True
    least_spec: ClassVar[Object] = {"devices": {}}
    namespace_rules = (ADMIN_ACCESS,)

    def tidy_status(self, obj: Object, old: Object) -> None:
        """Reports on devices that the update deallocates go with them."""
        from validation.claim_status import drop_deallocated  # only who changes a status needs its rules

        drop_deallocated(obj, old)

    def check_spec(self, spec: Object, checks: Checks) -> None:
        """The spec of a new claim."""
        check_device_claim(spec.get("devices", EMPTY), ("spec", "devices"), checks)

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec of a stored claim never changes, so only that is checked; up to 1.34 the rest as well, and twice."""
        self.check_own_metadata(obj, checks)
        spec, again = obj.get("spec", EMPTY), checks.minor < 35
        if again:
            self.check_spec(spec, checks)
        check_metadata_update(obj, old, checks)
        if not equal(obj.get("spec"), old.get("spec")):
            shown = shown_spec("ResourceClaimSpec", spec, checks)
            checks.report(INVALID, ("spec",), shown, "field is immutable", origin="immutable", covered=True)
        if again:
            check_device_claim(spec.get("devices", EMPTY), ("spec", "devices"), checks, stored=True)

    def check_status(self, obj: Object, old: Object, checks: Checks, labels: Labels) -> None:
        """A changed status of a stored claim."""
        from validation.claim_status import check_claim_status

        check_claim_status(obj, old, checks, labels)
