"""What must hold for a ResourceClaim (KEP-4381)."""

from __future__ import annotations

from resourceapi.equality import equal
from resourceapi.field_errors import INVALID
from resourceapi.kinds import CLAIM
from resourceapi.objects import EMPTY, Object
from validation.checks import Checks
from validation.claim_status import check_claim_status, drop_deallocated
from validation.device_claims import check_admin_access, check_device_claim
from validation.kind_rules import DeviceKindRules, Labels
from validation.object_meta import check_metadata, check_metadata_update


class ClaimRules(DeviceKindRules):
    """ResourceClaim."""

    keeps_generation = True

    def __init__(self) -> None:
        super().__init__(CLAIM)

    def tidy_status(self, obj: Object, old: Object) -> None:
        """Reports on devices that the update deallocates go with them."""
        drop_deallocated(obj, old)

    def check_new(self, obj: Object, checks: Checks, labels: Labels) -> None:
        """A new claim."""
        devices = obj.get("spec", EMPTY).get("devices", EMPTY)
        check_admin_access(devices.get("requests"), checks, labels)
        check_metadata(obj, checks, namespaced=True)
        check_device_claim(devices, ("spec", "devices"), checks)

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec of a stored claim never changes, so only that is checked."""
        check_metadata(obj, checks, namespaced=True)
        check_metadata_update(obj, old, checks)
        if not equal(obj.get("spec"), old.get("spec")):
            shown = checks.internal("ResourceClaimSpec", obj.get("spec", EMPTY))
            checks.report(INVALID, ("spec",), shown, "field is immutable", origin="immutable", covered=True)

    def check_status(self, obj: Object, old: Object, checks: Checks, labels: Labels) -> None:
        """A changed status of a stored claim."""
        check_claim_status(obj, old, checks, labels)
