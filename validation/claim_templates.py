"""What must hold for a ResourceClaimTemplate (KEP-4381)."""

from __future__ import annotations

from resourceapi.equality import equal
from resourceapi.kinds import CLAIM_TEMPLATE
from resourceapi.objects import EMPTY, Object
from validation.checks import Checks
from validation.device_claims import check_admin_access, check_device_claim
from validation.kind_rules import DeviceKindRules, Labels
from validation.object_meta import check_metadata, check_metadata_update, check_template_metadata


class ClaimTemplateRules(DeviceKindRules):
    """ResourceClaimTemplate."""

    keeps_generation = True

    def __init__(self) -> None:
        super().__init__(CLAIM_TEMPLATE)

    def check_new(self, obj: Object, checks: Checks, labels: Labels) -> None:
        """A new template: its own metadata, and everything that a claim made from it must satisfy."""
        devices = obj.get("spec", EMPTY).get("spec", EMPTY).get("devices", EMPTY)
        check_admin_access(devices.get("requests"), checks, labels)
        _check_template(obj, checks)

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec of a stored template never changes either, but all of it is checked again."""
        _check_template(obj, checks)
        check_metadata_update(obj, old, checks)
        if not equal(obj.get("spec"), old.get("spec")):
            shown = checks.internal("ResourceClaimTemplateSpec", obj.get("spec", EMPTY))
            checks.invalid(("spec",), shown, "field is immutable")


def _check_template(template: Object, checks: Checks) -> None:
    spec = template.get("spec", EMPTY)
    devices = spec.get("spec", EMPTY).get("devices", EMPTY)
    check_metadata(template, checks, namespaced=True)
    check_template_metadata(spec.get("metadata", EMPTY), ("spec", "metadata"), checks)
    check_device_claim(devices, ("spec", "spec", "devices"), checks)
