"""What must hold for a ResourceClaimTemplate (KEP-4381)."""

from __future__ import annotations

from typing import ClassVar

from resourceapi.equality import equal
from resourceapi.kinds import CLAIM_TEMPLATE
from resourceapi.objects import EMPTY, Object
from validation.cacheable_rules import CacheableKindRules
from validation.checks import Checks
from validation.device_claims import ADMIN_ACCESS_IN_TEMPLATE, check_device_claim, shown_spec
from validation.object_meta import check_metadata_update, check_template_metadata


class ClaimTemplateRules(CacheableKindRules):
    """ResourceClaimTemplate."""

    __slots__ = ()
    kind = CLAIM_TEMPLATE
    keeps_generation = True
    least_spec: ClassVar[Object] = {"spec": {"devices": {}}}
    namespace_rules = (ADMIN_ACCESS_IN_TEMPLATE,)
    declared_since = 37

    def check_spec(self, spec: Object, checks: Checks, *, stored: bool = False) -> None:
        """Everything that a claim made from the template must satisfy."""
        check_template_metadata(spec.get("metadata", EMPTY), ("spec", "metadata"), checks)
        devices = spec.get("spec", EMPTY).get("devices", EMPTY)
        check_device_claim(devices, ("spec", "spec", "devices"), checks, stored=stored)

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec of a stored template never changes either, but all of it is checked again."""
        self.check_own_metadata(obj, checks)
        self.check_spec(obj.get("spec", EMPTY), checks)
        check_metadata_update(obj, old, checks)
        if not equal(obj.get("spec"), old.get("spec")):
            shown = shown_spec("ResourceClaimTemplateSpec", obj.get("spec", EMPTY), checks)
            checks.invalid(("spec",), shown, "field is immutable")
        if checks.minor < 35:
            self.check_spec(obj.get("spec", EMPTY), checks, stored=True)
